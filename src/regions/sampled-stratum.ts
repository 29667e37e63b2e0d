/** Names of the parts of strata on which samples fell. */

const SAMPLED = "/sampled";

/** The part of a stratum on which samples fell lately. */
export function sampledStratum(stratum: string): string {
  return `${stratum}${SAMPLED}`;
}

/** True of such a part. */
export const isSampledStratum = (stratum: string): boolean => stratum.endsWith(SAMPLED);

/** The stratum of which this is a part, else itself. */
export function wholeStratum(stratum: string): string {
  return isSampledStratum(stratum) ? stratum.slice(0, -SAMPLED.length) : stratum;
}
