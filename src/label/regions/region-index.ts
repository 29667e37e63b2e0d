/** The regions of a run by address and time. */
import { type PlaceIndex, placeIndex } from "./place-index.ts";
import type { Region } from "./region-map.ts";

/** An index that finds the position of a region in the list; what outlived the run holds its addresses for ever. */
export function regionIndex(regions: readonly Region[]): PlaceIndex {
  return placeIndex(
    regions.map((region) => ({
      ...region,
      death_ns: region.death_censored ? Number.POSITIVE_INFINITY : region.death_ns,
    })),
  );
}
