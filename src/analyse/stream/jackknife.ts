/** How far an estimate may be off, from leaving out each group of observations in turn. */

import { CI_LEVEL } from "../../statistics/interval.ts";
import { studentQuantile } from "../../statistics/student.ts";

/** Fewer groups with an observation say too little of their variance. */
export const FEWEST_GROUPS = 8;
const quantiles = new Map<number, number>();

/** Student's quantile for the two-sided level of every interval; few degrees occur, and finding one takes a while. */
function quantileFor(degrees: number): number {
  const cached = quantiles.get(degrees);
  if (cached !== undefined) return cached;
  const found = studentQuantile(1 - (1 - CI_LEVEL) / 2, degrees);
  quantiles.set(degrees, found);
  return found;
}

/**
 * Half the width of the interval (Quenouille and Tukey's jackknife, Student's quantile).
 * @param without the estimate without each group in turn
 * @returns null for too few groups
 */
export function jackknifeReach(without: readonly number[]): number | null {
  const m = without.length;
  if (m < FEWEST_GROUPS) return null;
  const mean = without.reduce((sum, x) => sum + x, 0) / m;
  const squares = without.reduce((sum, x) => sum + (x - mean) ** 2, 0);
  return quantileFor(m - 1) * Math.sqrt(((m - 1) / m) * squares);
}
