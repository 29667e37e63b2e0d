/** The normal distribution, which the BCa interval needs. */

/** Phi(x): the series of DLMF 7.6.2 near 0, the continued fraction of the Mills ratio (DLMF 7.9.2) in the tails. */
export function normalCdf(x: number): number {
  const z = Math.abs(x);
  if (z > 38) return x > 0 ? 1 : 0;
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z < 4) {
    let term = z;
    let sum = z;
    for (let i = 1; i < 200 && term > 1e-17 * sum; i++) {
      term *= (z * z) / (2 * i + 1);
      sum += term;
    }
    return 0.5 + Math.sign(x) * density * sum;
  }
  let fraction = z;
  for (let i = 60; i >= 1; i--) fraction = z + i / fraction;
  const tail = density / fraction;
  return x > 0 ? 1 - tail : tail;
}

/** Phi^-1(p) by bisection on Phi; +-Infinity at 1 and 0. */
export function normalQuantile(p: number): number {
  if (p <= 0) return Number.NEGATIVE_INFINITY;
  if (p >= 1) return Number.POSITIVE_INFINITY;
  let lo = -38;
  let hi = 38;
  for (let i = 0; i < 90; i++) {
    const mid = (lo + hi) / 2;
    if (normalCdf(mid) < p) lo = mid;
    else hi = mid;
  }
  return (lo + hi) / 2;
}
