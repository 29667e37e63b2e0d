/** Memory of the tracer while it records a steady load, in a short run and in one ten times longer. */
import { compileProgram } from "../fixtures/compile.ts";
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import { tracedRun } from "./traced-run.ts";

const FAULTS_PER_S = 20_000;
const TARGET_RSS_BYTES = 200 * 2 ** 20;
/** What still counts as flat: the allocator's own steps are of this size. */
const TARGET_GROWTH = 1.1;

interface Memory {
  readonly peak_bytes: number;
  /** Median of the last quarter of the run. */
  readonly late_bytes: number;
  readonly fault_rows: number;
  readonly samples: number;
}

async function measure(program: string, seconds: number): Promise<Memory> {
  using run = await tracedRun(["--baseline", "1ms"], [program, String(seconds), String(FAULTS_PER_S)]);
  const rows = await run.query("SELECT rss_bytes FROM {process} WHERE role = 'tracer' ORDER BY timestamp_ns");
  const rss = rows.map((row) => Number(row.rss_bytes));
  const [faults] = await run.query("SELECT count(*) AS n FROM {fault}");
  return {
    peak_bytes: Math.max(...rss),
    late_bytes: median(rss.slice(Math.floor(rss.length * 0.75))),
    fault_rows: Number(faults?.n),
    samples: rss.length,
  };
}

/** Runs of 10 and 100 s, so it takes two minutes. */
export async function benchTracerMemory({ quick }: BenchOptions): Promise<BenchRow[]> {
  const program = compileProgram("steady-load");
  const [shortSeconds, longSeconds] = quick ? [2, 6] : [10, 100];
  const short = await measure(program, shortSeconds);
  const long = await measure(program, longSeconds);
  const counts = `${long.fault_rows} fault rows, ${long.samples} samples of RSS in ${longSeconds} s`;
  const note = `median of the last quarter of ${longSeconds} s over that of ${shortSeconds} s`;
  return [
    atMost(
      "tracer memory: peak RSS while recording",
      Math.max(short.peak_bytes, long.peak_bytes),
      "B",
      TARGET_RSS_BYTES,
      counts,
    ),
    atMost("tracer memory: a long run over a short one", long.late_bytes / short.late_bytes, "1", TARGET_GROWTH, note),
    aside("tracer memory: peak RSS of the short run", short.peak_bytes, "B"),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchTracerMemory({ blocks: 0, quick: true }), null, 2)}\n`);
}
