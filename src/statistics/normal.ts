/** The normal distribution: its distribution function, quantiles, and numbers drawn from it. */
import type { Random } from "./prng.ts";

/** P(Z <= z), to 1e-9 relative: W. J. Cody's split with a continued fraction in the tails. */
export function normalCdf(z: number): number {
  if (Number.isNaN(z)) return Number.NaN;
  const x = Math.abs(z);
  let tail: number;
  if (x > 38) tail = 0;
  else if (x < 3) {
    // Series of Marsaglia, "Evaluating the normal distribution", J. Stat. Software 11(4), 2004.
    let term = x;
    let sum = x;
    for (let i = 3; Math.abs(term) > 1e-17 * sum; i += 2) {
      term *= (x * x) / i;
      sum += term;
      if (term === 0) break;
    }
    tail = 0.5 - sum * Math.exp(-0.5 * x * x) * 0.3989422804014327;
  } else {
    // Laplace's continued fraction of the Mills ratio.
    let fraction = x;
    for (let i = 60; i >= 1; i--) fraction = x + i / fraction;
    tail = (Math.exp(-0.5 * x * x) * 0.3989422804014327) / fraction;
  }
  return z > 0 ? 1 - tail : tail;
}

/** The z with P(Z <= z) = p, for p in (0, 1); by bisection on normalCdf, so that the two agree. */
export function normalQuantile(p: number): number {
  if (!(p > 0 && p < 1)) return p === 0 ? Number.NEGATIVE_INFINITY : p === 1 ? Number.POSITIVE_INFINITY : Number.NaN;
  let lo = -40;
  let hi = 40;
  while (hi - lo > 1e-12) {
    const mid = (lo + hi) / 2;
    if (normalCdf(mid) < p) lo = mid;
    else hi = mid;
  }
  return (lo + hi) / 2;
}

/** A standard normal number (Box and Muller, Annals of Mathematical Statistics 29, 1958). */
export function normalDraw(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
