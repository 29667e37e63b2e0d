/** The bias-corrected and accelerated bootstrap (B. Efron, Better bootstrap confidence intervals, JASA 82, 1987). */
import { normalCdf, normalQuantile } from "./normal.ts";

/**
 * Acceleration from how far estimates without each unit lie below their mean; for a mean of values the values' own
 * distances from it give the same.
 */
export function acceleration(distances: Iterable<number>): number {
  let squares = 0;
  let cubes = 0;
  for (const distance of distances) {
    squares += distance ** 2;
    cubes += distance ** 3;
  }
  return squares > 0 ? cubes / (6 * squares ** 1.5) : 0;
}

/**
 * Which quantile of the replicates is the p-quantile of the estimate.
 * @param below share of replicates below the estimate, within 0 and 1
 */
export function adjustedQuantile(p: number, below: number, accelerated: number): number {
  const bias = normalQuantile(below);
  const z = bias + normalQuantile(p);
  if (!Number.isFinite(z)) return z > 0 ? 1 : 0;
  return normalCdf(bias + z / Math.max(1e-9, 1 - accelerated * z));
}
