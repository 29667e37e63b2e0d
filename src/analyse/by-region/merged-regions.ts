/** Rows of one region by all that tells of it, together. */
import type { RegionRows } from "./stream-regions.ts";

/** Regions in the order in which they are first met, each with the rows of every list. */
export function mergedRegions(lists: readonly (readonly RegionRows[])[]): RegionRows[] {
  const found = new Map<number, RegionRows>();
  for (const region of lists.flat()) {
    const before = found.get(region.region_id);
    found.set(region.region_id, before === undefined ? region : { ...before, rows: [...before.rows, ...region.rows] });
  }
  return [...found.values()];
}
