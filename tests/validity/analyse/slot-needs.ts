/** How long rows of the cache of a server are needed, by a replay of its steps: those of one run, and those of ever so many like it. */
import type { StepRow } from "../../../src/label/timeline/step-row.ts";
import { detailOf } from "../../../src/schema/step-detail.ts";
import { quantileOf, type Truth } from "../../../src/simulate/true-quantiles.ts";
import { type SlotServer, serverSteps } from "./slot-server.ts";

/** A run goes on for so many times its length, until what becomes of its rows is seen. */
const GOES_ON = 3;
/** Runs that are put together, with seeds that no run has which is judged. */
const ALIKE = 60;
const FIRST_SEED = 90_000;

interface Row {
  readonly write_ns: number;
  last_need_ns: number;
}

/** A run of a server. */
export interface SlotRun {
  readonly server: SlotServer;
  /** For so long it has served before the run begins. */
  readonly before_ns: number;
  readonly window_ns: number;
}

interface Needs {
  /** Of each row written in the run: how long it was needed. One that never leaves is needed for ever. */
  readonly needs_ns: number[];
  /** Steps of the run that needed them, in all. */
  readonly needed: number;
}

/** Replays the steps: a batch writes rows of its sequences, and needs all that they had before it. @param until_ns when the run is over */
function replay(steps: readonly StepRow[], until_ns: number): Needs {
  const slots = new Map<number, (Row | null)[]>();
  const needs_ns: number[] = [];
  let needed = 0;
  const give = (row: Row | null, isOpen: boolean): void => {
    if (row !== null && row.write_ns < until_ns)
      needs_ns.push(isOpen ? Number.POSITIVE_INFINITY : row.last_need_ns - row.write_ns);
  };
  for (const step of steps) {
    const detail = detailOf(step);
    if (step.kind === "kv_trim") {
      for (const row of slots.get(step.sequence_id ?? 0)?.splice(Number(detail.position_from)) ?? []) give(row, false);
    }
    if (step.kind !== "decode") continue;
    for (const [slot, position, tokens] of detail.kv_rows as [number, number, number][]) {
      const rows = slots.get(slot) ?? [];
      slots.set(slot, rows);
      // What was there before the run began was not written in it.
      while (rows.length < position) rows.push(null);
      for (const row of rows) {
        if (row === null) continue;
        row.last_need_ns = step.begin_ns;
        if (step.begin_ns < until_ns) needed += 1;
      }
      for (let k = 0; k < tokens; k++) rows.push({ write_ns: step.begin_ns, last_need_ns: step.begin_ns });
    }
  }
  for (const rows of slots.values()) for (const row of rows) give(row, true);
  return { needs_ns, needed };
}

const QUANTILES = [
  ["retention_p50_ns", 0.5],
  ["retention_p90_ns", 0.9],
  ["retention_p99_ns", 0.99],
] as const;

function needsOf({ server, before_ns, window_ns }: SlotRun, seeds: readonly number[]): Map<string, Truth | null> {
  const needs: number[] = [];
  let all = 0;
  for (const seed of seeds) {
    const steps = serverSteps(server, before_ns, GOES_ON * window_ns, seed);
    const { needs_ns, needed } = replay(steps, window_ns);
    for (const need of needs_ns) needs.push(need);
    all += needed;
  }
  const each = all / needs.length;
  return new Map([
    ...QUANTILES.map(([metric, q]) => [metric, quantileOf(needs, q)] as const),
    ["reads_per_write", { lo: each, hi: each }],
  ]);
}

/** What is true of the rows that one run writes, whatever becomes of them when it is over. */
export const ownNeeds = (run: SlotRun, seed: number): Map<string, Truth | null> => needsOf(run, [seed]);

/** What is true of the rows of ever so many runs of the same length, of the same server, with other requests of the same description. */
export const needsAlike = (run: SlotRun): Map<string, Truth | null> =>
  needsOf(
    run,
    Array.from({ length: ALIKE }, (_, i) => FIRST_SEED + i),
  );
