/** How many write epochs may have passed without one sampled store. */
import { chao1 } from "../../statistics/chao1.ts";
import { leastMean } from "../../statistics/poisson-mean.ts";
import type { StoreRuns } from "../input/input.ts";

/** The mean of a Poisson count whose mean is `seen` where it is not zero: seen = mean / (1 - exp(-mean)). */
function untruncated(seen: number): number {
  if (!(seen > 1)) return 0;
  let lo = 0;
  let hi = seen;
  for (let i = 0; i < 60; i++) {
    const mid = (lo + hi) / 2;
    if (mid > 0 && mid / -Math.expm1(-mid) > seen) hi = mid;
    else lo = mid;
  }
  return lo;
}

/**
 * Upper end, one-sided at 97.5 %, of the share of epochs without a sample, from the samples of those that have some. The
 * larger of two answers: that of epochs alike in their stores (Poisson, cut off at zero), and Chao1's, to which epochs
 * that were sampled once or twice say how many were not at all, however unlike they are.
 * @returns 0 to 1; 1 where no epoch has two samples; 0 without runs
 */
export function missedShare({ runs, samples, runs_of_1, runs_of_2 }: StoreRuns): number {
  if (runs === 0) return 0;
  const alike = Math.exp(-untruncated(leastMean(samples) / runs));
  const most = chao1(runs, runs_of_1, runs_of_2, samples).hi ?? runs;
  return Math.max(alike, 1 - runs / most);
}

/**
 * Bounds of the share of written blocks that were written in exactly one epoch, among all of them, those without a sample too.
 * Every epoch leaves no sample with a chance of at most `missed`. A block of one epoch is then overlooked with that chance.
 * A block of several epochs looks like a block of one where all but one left no sample: with a chance of at most
 * 2 missed (1 - missed), which is that of two epochs.
 * @param least,most ends of the share of seen blocks that appear to have one epoch, 0 to 1
 * @param missed below 1/3
 */
export function onceOfWritten(
  least: number,
  most: number,
  missed: number,
): { readonly lo: number; readonly hi: number } {
  const one = 1 - missed;
  const fewer = 2 * missed * one;
  const seen = 1 - missed * missed;
  const over = least * seen - fewer;
  return {
    lo: over <= 0 ? 0 : over / (over + one * (1 - least)),
    hi: most / (most + (1 - most) * one),
  };
}
