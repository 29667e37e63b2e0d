/** Analysis of sampled accesses on two cores: seconds, peak memory, and growth with the number of rows. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { analyseRun } from "../../src/analyse/pipeline.ts";
import { writeSyntheticRun } from "./synthetic-run.ts";

/** One figure and what it is held against. */
export interface BenchRow {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly target: number;
  /** How many times better than the target: above 1 is reached. */
  readonly ratio: number;
}

const SIZES = [1e6, 3e6, 1e7] as const;
const SEED = 20240117;
const TARGET_S = 10;
const TARGET_RSS_BYTES = 2 ** 30;
/** Seconds per row of the largest run, against the smallest: 1 is linear, less is better. */
const TARGET_GROWTH = 1.1;

interface Measured {
  readonly seconds: number;
  readonly peak_rss_bytes: number;
}

/** Peak resident set of this process: VmHWM of /proc/self/status. */
function peakRssBytes(): number {
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return Number(match?.[1] ?? Number.NaN) * 1024;
}

async function analyseHere(runDir: string): Promise<Measured> {
  const begin = performance.now();
  await analyseRun(runDir, {
    run_id: "bench",
    ledger: [],
    trap_cost_ns: null,
    seed: SEED,
    sight: [],
  });
  return { seconds: (performance.now() - begin) / 1e3, peak_rss_bytes: peakRssBytes() };
}

/** Runs this file in a process of its own, so that neither memory nor a warm cache of the other part counts. */
async function apart(part: "write" | "analyse", runDir: string, rows: number): Promise<string> {
  const child = Bun.spawn([process.execPath, import.meta.path, part, runDir, String(rows)], { stdout: "pipe" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`${part} of ${rows} rows failed`);
  return text;
}

/** Writes and analyses runs of 1, 3 and 10 million rows; takes about half a minute and 1 GB below the temporary folder. */
export async function benchAnalyse(): Promise<BenchRow[]> {
  const measured: Measured[] = [];
  for (const rows of SIZES) {
    const runDir = mkdtempSync(join(tmpdir(), "mrm-analyse-"));
    try {
      await apart("write", runDir, rows);
      measured.push(JSON.parse(await apart("analyse", runDir, rows)));
    } finally {
      rmSync(runDir, { recursive: true, force: true });
    }
  }
  const perRow = measured.map((of, index) => of.seconds / (SIZES[index] ?? 1));
  const out: BenchRow[] = measured.map((of, index) => {
    const target = (TARGET_S * (SIZES[index] ?? 0)) / 1e7;
    const what = `analysis of ${(SIZES[index] ?? 0) / 1e6} M access rows`;
    return { what, value: of.seconds, unit: "s", target, ratio: target / of.seconds };
  });
  const peak = Math.max(...measured.map((of) => of.peak_rss_bytes));
  out.push({
    what: "peak memory of the analysis",
    value: peak,
    unit: "bytes",
    target: TARGET_RSS_BYTES,
    ratio: TARGET_RSS_BYTES / peak,
  });
  const growth = (perRow.at(-1) ?? Number.NaN) / (perRow[0] ?? Number.NaN);
  const what = "time per row at 10 M rows over time per row at 1 M";
  out.push({ what, value: growth, unit: "1", target: TARGET_GROWTH, ratio: TARGET_GROWTH / growth });
  return out;
}

if (import.meta.main) {
  const [part, runDir, rows] = process.argv.slice(2);
  if (part === "write" && runDir !== undefined) writeSyntheticRun(runDir, Number(rows), SEED);
  else if (part === "analyse" && runDir !== undefined) process.stdout.write(JSON.stringify(await analyseHere(runDir)));
  else process.stdout.write(`${JSON.stringify(await benchAnalyse(), null, 2)}\n`);
}
