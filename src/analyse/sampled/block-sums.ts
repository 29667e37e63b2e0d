/** Sampled loads and stores by block of time: a token, or 100 ms and more where there are none. */

import { OP } from "../../schema/operation.ts";
import type { StepSample } from "../input/input.ts";
import { STEPS } from "./sampled-rows.ts";

/** Length of a block of time where there are no tokens, ns; doubled until they are few enough. */
const BLOCK_NS = 100e6;
/** Seven minutes of 100 ms. More make no interval better, and an interval of days of them takes minutes. */
const MOST_BLOCKS = 4096;

/** Blocks of the covered span and of each step, numbered from 0; one without a sample counts as zero. */
export interface BlockPlan {
  /** By position in STEPS. */
  readonly blocks: readonly number[];
  /** Length of a block of the covered span, and begin of its first one, ns since the origin. */
  readonly block_ns: number;
  readonly blocks_from_ns: number;
  /** Block of a sample in the covered span, or of the step; -1 where it lies in none. */
  blockOf(step: number, time_ns: number, token_index: number): number;
}

/** @param span first and last moment that is covered, ns since the origin */
export function blockPlan(span: { begin_ns: number; end_ns: number }, steps: readonly StepSample[]): BlockPlan {
  let blockNs = BLOCK_NS;
  while ((span.end_ns - span.begin_ns) / blockNs >= MOST_BLOCKS) blockNs *= 2;
  const blockAt = (time_ns: number): number => Math.floor(time_ns / blockNs);
  const first = blockAt(span.begin_ns);
  const all = blockAt(span.end_ns) - first + 1;
  const prefillOf = new Int32Array(all).fill(-1);
  for (const { step, begin_ns, end_ns } of steps) {
    if (step === "prefill") prefillOf.fill(0, blockAt(begin_ns) - first, blockAt(end_ns) - first + 1);
  }
  let prefills = 0;
  for (let block = 0; block < all; block++) if (prefillOf[block] === 0) prefillOf[block] = prefills++;
  const tokens = steps.filter(({ step, is_guess }) => step === "decode" && !is_guess).length;
  return {
    blocks: [all, prefills, tokens],
    block_ns: blockNs,
    blocks_from_ns: first * blockNs,
    blockOf(step, time_ns, token_index) {
      if (step === 2) return token_index < tokens ? token_index : -1;
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
