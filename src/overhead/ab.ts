/** Paired A/B arithmetic: how much slower the target is while it is observed, and what may be claimed of it. */

import type { Verdict } from "../schema/words.ts";
import { hodgesLehmann, type NumberInterval, widestOfMean } from "../statistics/block-bootstrap.ts";
import { normalQuantile } from "../statistics/normal.ts";

/** Costs of one block (time per token, or any figure that is larger when slower), in any order. */
export interface BlockCosts {
  readonly off: readonly number[];
  readonly on: readonly number[];
}

function meanLog(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + Math.log(value), 0) / values.length;
}

/** One log ratio on/off per block; a block with a missing or non-positive figure gives null and must be counted by the caller. */
export function logRatio(block: BlockCosts): number | null {
  const ratio = meanLog(block.on) - meanLog(block.off);
  return Number.isFinite(ratio) ? ratio : null;
}

export interface AbResult {
  readonly blocks: number;
  /** Blocks left out, as a figure in them was missing. */
  readonly unusable: number;
  /** Standard deviation of the log ratios in %: the noise of the rig. */
  readonly sd_pct: number;
  /** Slowdown in % with its two-sided 95 % interval: exp(mean of log ratios) - 1. */
  readonly slowdown_pct: NumberInterval;
  /** Ends of the one-sided 95 % intervals in %, which the verdict is taken from. */
  readonly lower_bound_pct: number;
  readonly upper_bound_pct: number;
  /** Slowdown in % by Hodges-Lehmann; far from `slowdown_pct` when single blocks decide. */
  readonly hodges_lehmann_pct: number;
  readonly margin_pct: number;
  readonly verdict: Verdict;
}

/** Fewer blocks than this give no verdict but INCONCLUSIVE. */
export const MIN_BLOCKS = 5;

const toPct = (logRatioValue: number): number => (Math.exp(logRatioValue) - 1) * 100;

function sampleSd(values: readonly number[]): number {
  const centre = values.reduce((sum, v) => sum + v, 0) / values.length;
  return Math.sqrt(values.reduce((sum, v) => sum + (v - centre) ** 2, 0) / (values.length - 1));
}

/**
 * The slowdown over the blocks and whether it is shown to be below the margin (two one-sided tests, alpha 0.05:
 * Schuirmann 1987): PASS when the upper bound is below it, FAIL when the lower bound is above it, else INCONCLUSIVE.
 * @param marginPct largest slowdown in % that is acceptable, declared before the run
 */
export function compareArms(blocks: readonly BlockCosts[], marginPct: number, seed = 1): AbResult {
  const ratios = blocks.map(logRatio).filter((ratio) => ratio !== null);
  const both = widestOfMean(ratios, { level: 0.95, seed });
  const oneSided = widestOfMean(ratios, { level: 0.9, seed });
  const lower = toPct(oneSided.lo);
  const upper = toPct(oneSided.hi);
  const decided: Verdict = upper < marginPct ? "PASS" : lower > marginPct ? "FAIL" : "INCONCLUSIVE";
  return {
    blocks: ratios.length,
    unusable: blocks.length - ratios.length,
    sd_pct: ratios.length < 2 ? Number.NaN : sampleSd(ratios) * 100,
    slowdown_pct: { value: toPct(both.value), lo: toPct(both.lo), hi: toPct(both.hi) },
    lower_bound_pct: lower,
    upper_bound_pct: upper,
    hodges_lehmann_pct: toPct(hodgesLehmann(ratios)),
    margin_pct: marginPct,
    verdict: ratios.length < MIN_BLOCKS ? "INCONCLUSIVE" : decided,
  };
}

/**
 * Blocks to declare before a run that shall show a slowdown below the margin:
 * n = ((z_alpha + z_power) sd / (margin - expected))^2, rounded up.
 * @param sdPct standard deviation of one log ratio in %
 * @throws RangeError when the expected slowdown is not below the margin, as no n can show it then
 */
export function blocksNeeded(
  sdPct: number,
  marginPct: number,
  { expectedPct = 0, alpha = 0.05, power = 0.9 }: { expectedPct?: number; alpha?: number; power?: number } = {},
): number {
  if (!(marginPct > expectedPct)) {
    throw new RangeError(`a margin above the expected ${expectedPct} % expected, but received ${marginPct} %`);
  }
  const z = normalQuantile(1 - alpha) + normalQuantile(power);
  return Math.ceil(((z * sdPct) / (marginPct - expectedPct)) ** 2);
}
