/**
 * Skewness of an estimated share beyond that of as many independent values. Where few units are heavy, as few words are used very
 * often, one of them that was not drawn is missed by more than one that was drawn twice adds, and the spread of what was drawn is
 * too small with it: an interval of the spread alone misses on that side.
 */
import type { Resamples } from "./bootstrap.ts";
import { CI_Z } from "./interval.ts";

/**
 * From what each unit adds, which is how the share varies over the resamples with how often the unit is in them (the infinitesimal
 * jackknife: B. Efron, JASA 109, 2014).
 * @param replicates the share on each resample, NaN where it has none
 */
export function excessSkewness(replicates: Float64Array, resamples: Resamples): number {
  let count = 0;
  let mean = 0;
  for (const share of replicates) {
    if (Number.isNaN(share)) continue;
    count += 1;
    mean += (share - mean) / count;
  }
  const units = resamples[0]?.length ?? 0;
  const adds = new Float64Array(units);
  let variance = 0;
  resamples.forEach((times, r) => {
    const share = replicates[r] ?? Number.NaN;
    if (Number.isNaN(share)) return;
    const off = (share - mean) / count;
    variance += off * (share - mean);
    for (let unit = 0; unit < units; unit++) adds[unit] = (adds[unit] ?? 0) + off * ((times[unit] ?? 0) - 1);
  });
  if (!(variance > 1e-18) || !(mean > 0 && mean < 1)) return 0;
  const ofUnits = adds.reduce((sum, add) => sum + add ** 3, 0) / variance ** 1.5;
  const ofValues = ((1 - 2 * mean) * Math.sqrt(variance)) / (mean * (1 - mean));
  const excess = ofUnits - ofValues;
  // Two spreads of what chance alone gives, as there are no more resamples.
  const noise = 2 * Math.sqrt((15 * units) / count ** 3);
  return Math.sign(excess) * Math.max(0, Math.abs(excess) - noise);
}

/**
 * How far the upper end of a mean lies beyond the usual one, in spreads that were estimated (the first term of Edgeworth's
 * expansion: P. Hall, The Bootstrap and Edgeworth Expansion, 1992, section 2.6); the lower end as far for the opposite skewness.
 */
export const fartherBy = (skewness: number): number => Math.max(0, ((2 * CI_Z ** 2 + 1) * skewness) / 6);
