/** The exact interval of a proportion. */
import { inverseIncompleteBeta } from "./incomplete-beta.ts";
import { CI_LEVEL, type Interval, interval } from "./interval.ts";

/**
 * Clopper and Pearson's interval (Biometrika 26, 1934) by beta quantiles.
 * @param hits successes, 0 to n; may be fractional when n is an effective sample size
 * @param n trials; 0 gives [0, 1] without a value
 */
export function clopperPearson(hits: number, n: number, level = CI_LEVEL): Interval {
  if (!(n > 0)) return interval(null, 0, 1);
  const x = Math.min(Math.max(hits, 0), n);
  const tail = (1 - level) / 2;
  const lo = x === 0 ? 0 : inverseIncompleteBeta(x, n - x + 1, tail);
  const hi = x >= n ? 1 : inverseIncompleteBeta(x + 1, n - x, 1 - tail);
  return interval(x / n, lo, hi);
}

/** Kish's effective sample size: (sum w)^2 / sum w^2. */
export function effectiveSize(weights: ArrayLike<number>): number {
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < weights.length; i++) {
    const w = weights[i] ?? 0;
    sum += w;
    squares += w * w;
  }
  return squares > 0 ? (sum * sum) / squares : 0;
}

/**
 * Interval of a weighted proportion: Clopper-Pearson at the effective sample size, after Korn and Graubard
 * (Survey Methodology 24, 1998).
 * @param success 1 where the property holds, one per unit
 * @param weights one per unit, zero or more
 */
export function weightedProportion(success: ArrayLike<number>, weights: ArrayLike<number>): Interval {
  let sum = 0;
  let holding = 0;
  for (let i = 0; i < weights.length; i++) {
    const w = weights[i] ?? 0;
    sum += w;
    if (success[i]) holding += w;
  }
  const n = effectiveSize(weights);
  return clopperPearson(sum > 0 ? (holding / sum) * n : 0, n);
}
