/** Limits of the mean of a Poisson count, each one-sided at 97.5 % (Byar, in Breslow and Day, Statistical Methods in Cancer Research II, 1987, 2.3). */
import { CI_Z } from "./interval.ts";

/** Lower limit of a Poisson mean of which `n` were counted; 0 for none. */
export function leastMean(n: number): number {
  return n > 0 ? Math.max(0, n * (1 - 1 / (9 * n) - CI_Z / (3 * Math.sqrt(n))) ** 3) : 0;
}

/** Upper limit of a Poisson mean of which `n` were counted. */
export function mostMean(n: number): number {
  const next = n + 1;
  return next * (1 - 1 / (9 * next) + CI_Z / (3 * Math.sqrt(next))) ** 3;
}
