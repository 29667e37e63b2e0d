/** Room for what is unlike all that was seen, which no resampling of units that were all alike can tell. */
import { clopperPearson } from "./clopper-pearson.ts";
import { CI_LEVEL, type Interval } from "./interval.ts";

/** How far below and above the mean of all others those may be that were not seen. */
export interface Unlike {
  readonly below: number;
  readonly above: number;
}

const ONE: Unlike = { below: 1, above: 1 };

/**
 * The interval of a mean with room for a share of it that is less, or more: as large a share as may be where none of so many was
 * (Clopper-Pearson). One without a value is left as it is.
 * @param units how many that count alike were seen
 * @param least no mean is less
 */
export function withUnseen(mean: Interval, units: number, least: number, { below, above }: Unlike = ONE): Interval {
  const { value, lo, hi } = mean;
  if (value === null) return mean;
  const share = clopperPearson(0, units, CI_LEVEL).hi ?? 1;
  return {
    value,
    lo: Math.min(lo ?? value, Math.max(least, value - share * below)),
    hi: Math.max(hi ?? value, value + share * above),
  };
}
