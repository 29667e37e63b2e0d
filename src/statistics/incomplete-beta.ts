/** The regularised incomplete beta function and its inverse, which the binomial interval needs. */

const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
  -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
] as const;

/** ln Gamma(x) for x > 0, by Lanczos' series (g = 7, n = 9); relative error below 1e-13. */
export function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const z = x - 1;
  let sum = 0.9999999999998099;
  for (let i = 0; i < LANCZOS.length; i++) sum += (LANCZOS[i] ?? 0) / (z + i + 1);
  const t = z + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The continued fraction of DLMF 8.17.22 by the modified Lentz method; converges fast for x < (a+1)/(a+b+2). */
function continuedFraction(a: number, b: number, x: number): number {
  const tiny = 1e-300;
  const bounded = (y: number): number => (Math.abs(y) < tiny ? tiny : y);
  let c = 1;
  let d = 1 / bounded(1 - ((a + b) * x) / (a + 1));
  let h = d;
  for (let m = 1; m < 10_000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / bounded(1 + even * d);
    c = bounded(1 + even / c);
    h *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / bounded(1 + odd * d);
    c = bounded(1 + odd / c);
    const step = d * c;
    h *= step;
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return h;
}

/** I_x(a, b) for a, b > 0; x outside [0, 1] is clamped. Source: DLMF 8.17. */
export function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2)
    ? (front * continuedFraction(a, b, x)) / a
    : 1 - (front * continuedFraction(b, a, 1 - x)) / b;
}

/**
 * The x in [0, 1] with I_x(a, b) = p, by bisection: monotone, so it cannot fail.
 * @param precision relative to x; the last bits unless told
 */
export function inverseIncompleteBeta(a: number, b: number, p: number, precision = 1e-16): number {
  if (p <= 0) return 0;
  if (p >= 1) return 1;
  let lo = 0;
  let hi = 1;
  for (let i = 0; i < 200 && hi - lo > precision * hi; i++) {
    const mid = (lo + hi) / 2;
    // Between two numbers that follow each other lies none.
    if (mid === lo || mid === hi) break;
    if (incompleteBeta(a, b, mid) < p) lo = mid;
    else hi = mid;
  }
  return (lo + hi) / 2;
}
