/** The lower limit of the mean of a Poisson count that is told where it is large enough alone: it may be so by luck. */
import { leastMean } from "./poisson-mean.ts";

const TAIL = 0.025;
const HALVINGS = 50;
/** Counts of more than so many times the fewest are told in any case. */
const FAR = 6;

/** P(N >= n | N >= fewest) of a Poisson count N; the terms of both sums are in proportion to that of `fewest`. */
function tailShare(mean: number, n: number, fewest: number): number {
  let term = 1;
  let all = 0;
  let tail = 0;
  for (let k = fewest; k <= mean || term > 1e-12 * all; k++) {
    all += term;
    if (k >= n) tail += term;
    term *= mean / (k + 1);
  }
  return tail / all;
}

/**
 * By how much the lower limit of a mean of which `n` were counted, one-sided at 97.5 %, is less where fewer than `fewest` would not have
 * been told: that of the count given that it is told (a truncated Poisson distribution: Cohen, Biometrika 41, 1954), over that of any count.
 * As few as may be told say nothing of how many there are in the mean: they have the limit of one more, so that an end is there whatever was counted.
 * @param n counted, `fewest` or more
 */
export function toldShare(n: number, fewest: number): number {
  if (n > FAR * fewest) return 1;
  const counted = Math.max(n, fewest + 1);
  let [lo, hi] = [0, counted];
  for (let i = 0; i < HALVINGS; i++) {
    const mean = (lo + hi) / 2;
    if (tailShare(mean, counted, fewest) < TAIL) lo = mean;
    else hi = mean;
  }
  return Math.min(1, lo / leastMean(counted));
}
