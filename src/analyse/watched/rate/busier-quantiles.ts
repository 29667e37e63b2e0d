/** Quantiles without an upper end: passes over busier bytes, of which none was drawn, come after shorter times, and the lower end allows for them. */
import type { Interval } from "../../../statistics/interval.ts";

export interface BusierQuantiles {
  readonly estimates: Interval[];
  /** Passes over busier bytes that the lower ends allow for, over all that were counted; 0 where each quantile has both ends. */
  readonly busier: number;
}

/**
 * One interval per quantile. Where one has no upper end all rests on the lower one, which is then that of as many more passes as
 * busier bytes may have.
 * @param quantilesOf the intervals that hold so many passes that were not drawn, over those that were
 * @param busierOf passes over bytes that are busier than any that was drawn, over all that were counted, at most
 */
export function quantilesWithBusier(
  quantilesOf: (undrawn: number) => Interval[],
  undrawn: number,
  busierOf: () => number,
): BusierQuantiles {
  const found = quantilesOf(undrawn);
  const isOpen = ({ value, hi }: Interval): boolean => value === null || hi === null;
  const busier = found.some(isOpen) ? busierOf() : 0;
  if (busier === 0) return { estimates: found, busier };
  const floors = quantilesOf(undrawn + busier);
  return { estimates: found.map((one, k) => (isOpen(one) ? { ...one, lo: floors[k]?.lo ?? null } : one)), busier };
}
