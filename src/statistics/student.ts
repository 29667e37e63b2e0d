/** Student's t distribution. */
import { incompleteBeta } from "./incomplete-beta.ts";

/**
 * P(T <= t) for any `degrees` above 0, whole or not: Abramowitz and Stegun 26.5.27, DLMF 8.17. Units that are counted by how much they
 * carry are no whole number, and sums that are made for whole ones jump between them.
 */
export function studentCdf(t: number, degrees: number): number {
  const tail = incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
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
