/** Sampled loads and stores by block of time: a token, or 100 ms and more where there are none. */

import { OP } from "../../schema/operation.ts";
import type { StepSample } from "../input/input.ts";
import { type SpanSteps, spanOf, spansOf, stepBy } from "../input/span.ts";
import { STEPS } from "./sampled-rows.ts";

/** Length of a block of time where there are no tokens, ns; doubled until they are few enough. */
const BLOCK_NS = 100e6;
/** Seven minutes of 100 ms. More make no interval better, and an interval of days of them takes minutes. */
const MOST_BLOCKS = 4096;

const DECODE = STEPS.indexOf("decode");

/** Blocks of the covered span and of each step, numbered from 0; one without a sample counts as zero. */
export interface BlockPlan {
  /** By position in STEPS. */
  readonly blocks: readonly number[];
  /** Length of a block of the covered span, and begin of its first one, ns since the origin. */
  readonly block_ns: number;
  readonly blocks_from_ns: number;
  /** Position in STEPS of the kind of step whose time a moment is of, by the spans of the figures; 0 for none. */
  stepAt(time_ns: number): number;
  /** Block of a moment in the covered span, or in the time of the step; -1 where it lies in none. */
  blockOf(step: number, time_ns: number): number;
}

/** Number of the last step that began by a moment: mostly that of the moment asked for before. */
function lastBegun(turns: SpanSteps): (time_ns: number) => number {
  const { begin_ns } = turns;
  let last = -1;
  return (time_ns) => {
    const isSame =
      time_ns >= (begin_ns[last] ?? Number.NEGATIVE_INFINITY) &&
      time_ns < (begin_ns[last + 1] ?? Number.POSITIVE_INFINITY);
    if (!isSame) last = stepBy(turns, time_ns);
    return last;
  };
}

/** @param span first and last moment that is covered, ns since the origin */
export function blockPlan(span: { begin_ns: number; end_ns: number }, steps: readonly StepSample[]): BlockPlan {
  let blockNs = BLOCK_NS;
  while ((span.end_ns - span.begin_ns) / blockNs >= MOST_BLOCKS) blockNs *= 2;
  const blockAt = (time_ns: number): number => Math.floor(time_ns / blockNs);
  const first = blockAt(span.begin_ns);
  const all = blockAt(span.end_ns) - first + 1;
  const prefillOf = new Int32Array(all).fill(-1);
  // A rate is of all the time of its span, that between two calls too, and of every process: so are the accesses over it.
  const [whole = spanOf("all", "all", []), ...parts] = spansOf(steps, span.end_ns);
  const turns = whole.steps;
  const turnAt = lastBegun(turns);
  for (const { step, begin_ns, end_ns } of parts) {
    if (step !== "prefill") continue;
    begin_ns.forEach((begin, i) => {
      prefillOf.fill(0, blockAt(begin) - first, blockAt(end_ns[i] ?? begin) - first + 1);
    });
  }
  let prefills = 0;
  for (let block = 0; block < all; block++) if (prefillOf[block] === 0) prefillOf[block] = prefills++;
  return {
    blocks: [all, prefills, turns.counts.decode.at(-1) ?? 0],
    block_ns: blockNs,
    blocks_from_ns: first * blockNs,
    stepAt(time_ns) {
      const turn = turnAt(time_ns);
      return time_ns < (turns.turn_end_ns[turn] ?? Number.NEGATIVE_INFINITY)
        ? STEPS.indexOf(turns.kind[turn] ?? "none")
        : 0;
    },
    blockOf(step, time_ns) {
      if (step === DECODE) return (turns.counts.decode[turnAt(time_ns)] ?? 0) - 1;
      const block = blockAt(time_ns) - first;
      return step === 0 ? block : (prefillOf[block] ?? -1);
    },
  };
}

/** Sums of one class as one source saw it; all by position in STEPS, the first of all samples whatever their step. */
export interface BlockSums {
  /** Weighted by period, by block. */
  readonly loads: readonly Float64Array[];
  readonly stores: readonly Float64Array[];
  /** Samples, unweighted; and of them those of loads and of stores that lie in a block. */
  readonly rows: Float64Array;
  readonly load_rows: Float64Array;
  readonly store_rows: Float64Array;
}

export function blockSums({ blocks }: BlockPlan): BlockSums {
  const perStep = () => new Float64Array(STEPS.length);
  return {
    loads: blocks.map((n) => new Float64Array(n)),
    stores: blocks.map((n) => new Float64Array(n)),
    rows: perStep(),
    load_rows: perStep(),
    store_rows: perStep(),
  };
}

/**
 * Adds a sample to one step.
 * @param op a value of OP
 * @param period accesses that it stands for
 */
export function addToBlock(sums: BlockSums, step: number, block: number, op: number, period: number): void {
  sums.rows[step] = (sums.rows[step] as number) + 1;
  if (block < 0) return;
  const loads = sums.loads[step] as Float64Array;
  const stores = sums.stores[step] as Float64Array;
  if (op === OP.load || op === OP.load_store) {
    loads[block] = (loads[block] as number) + period;
    sums.load_rows[step] = (sums.load_rows[step] as number) + 1;
  }
  if (op === OP.store || op === OP.load_store) {
    stores[block] = (stores[block] as number) + period;
    sums.store_rows[step] = (sums.store_rows[step] as number) + 1;
  }
}
