/** From the start of the tracer's process to the first event that it captured. */
import { aside, atMost, type BenchOptions, type BenchRow, median } from "./bench-row.ts";
import { tracedRun } from "./traced-run.ts";

const TARGET_MS = 500;

interface Start {
  readonly first_ms: number;
  readonly release_ms: number;
}

/** The duration of the look at the machine before the run, which is no part of the start. */
function baselineMs(facts: Readonly<Record<string, unknown>>): number {
  const details = facts.details as { readonly baseline?: { readonly duration_ms?: number } };
  const ms = details.baseline?.duration_ms;
  if (ms === undefined) throw new Error("the run does not say how long its baseline was");
  return ms;
}

async function start(): Promise<Start> {
  using run = await tracedRun(["--baseline", "1ms"], ["true"]);
  const [row] = await run.query(
    "SELECT min(t) AS first FROM (SELECT min(timestamp_ns) t FROM {mapping} UNION ALL SELECT min(timestamp_ns) FROM {fault})",
  );
  const since = (ns: bigint): number => Number(ns - run.spawned_ns) / 1e6 - baselineMs(run.facts);
  return { first_ms: since(BigInt(String(row?.first))), release_ms: since(BigInt(String(run.facts.started_ns))) };
}

/** Starts of `mrm-trace run -- true`, one after the other; about 2 s each. */
export async function benchStart({ quick }: BenchOptions): Promise<BenchRow[]> {
  // The first start reads everything from disk: it is a warm-up.
  await start();
  const starts: Start[] = [];
  for (let i = 0; i < (quick ? 3 : 9); i++) starts.push(await start());
  const first = starts.map((one) => one.first_ms);
  return [
    atMost(
      "start to first event, without the baseline",
      median(first),
      "ms",
      TARGET_MS,
      `from spawn: runtime, modules, BPF load and attach, registers, exec of the target; ${Math.min(...first).toFixed(0)} to ${Math.max(...first).toFixed(0)} ms in ${first.length} starts`,
    ),
    aside("start to release of the held target", median(starts.map((one) => one.release_ms)), "ms"),
  ];
}

if (import.meta.main) {
  process.stdout.write(`${JSON.stringify(await benchStart({ blocks: 0, quick: false }), null, 2)}\n`);
}
