/** Points of a distribution of a trace that holds every access. */
import { binnedShareIntervals, binnedShares } from "../stream/binned-quantiles.ts";
import type { BinnedTimes } from "../stream/binned-times.ts";
import type { CurvePoint } from "./curve.ts";
import { drawnPlaces, flipped } from "./share-points.ts";

/** Every point tells of all observations, as none of a stream is followed by itself. */
export function streamPoints(times: BinnedTimes, falling: boolean): CurvePoint[] {
  const curve = binnedShares(times);
  const { values, shares, censored } = curve;
  const places = [...drawnPlaces(values, shares)];
  const intervals = binnedShareIntervals(times, curve, places);
  let counted = 0;
  return places.map((position, k) => {
    const share = intervals[k] ?? { value: null, lo: null, hi: null };
    let open = 0;
    for (; counted <= position; counted++) open += censored[counted] ?? 0;
    return {
      x: values[position] ?? 0,
      ...(falling ? flipped(share) : { y: share.value, lo: share.lo, hi: share.hi }),
      n: times.n,
      n_censored: open,
    };
  });
}
