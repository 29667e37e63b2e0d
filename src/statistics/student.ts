/** Student's t distribution for whole degrees of freedom. */

/** P(T <= t) for `degrees` >= 1: the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4. */
export function studentCdf(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const cos2 = Math.cos(angle) ** 2;
  const odd = degrees % 2 === 1;
  let term = odd ? Math.cos(angle) : 1;
  let sum = odd && degrees === 1 ? 0 : term;
  for (let k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= (cos2 * (k - 1)) / k;
    sum += term;
  }
  const inside = odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
  return 0.5 + inside / 2;
}

/** The t with P(T <= t) = p, for p in (0, 1), by bisection. */
export function studentQuantile(p: number, degrees: number): number {
  let lo = -1e6;
  let hi = 1e6;
  for (let i = 0; i < 100; i++) {
    const mid = (lo + hi) / 2;
    if (studentCdf(mid, degrees) < p) lo = mid;
    else hi = mid;
  }
  return (lo + hi) / 2;
}
