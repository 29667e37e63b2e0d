/** The regions of one class. */
import { placeList } from "../../label/regions/places.ts";
import type { Regions } from "../../label/regions/region-map.ts";

export interface RegionSet {
  readonly all: Regions;
  /** Rows of the class, ascending: in order of process, address and birth. */
  readonly rows: Uint32Array;
}

/** No region at all. */
export function noRegions(): Regions {
  return { ...placeList().places, facts: [], movedBirths: new Map() };
}

/** Sets by the class of the facts of their regions. */
export function regionSets(
  regions: Regions,
  keyOf: (facts: Regions["facts"][number]) => string,
): Map<string, RegionSet> {
  const keys = regions.facts.map(keyOf);
  const counts = new Map<string, number>();
  for (let row = 0; row < regions.count; row++) {
    const key = keys[regions.what[row] as number] ?? "";
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const filled = new Map([...counts].map(([key, n]) => [key, { rows: new Uint32Array(n), n: 0 }]));
  const filledOf = keys.map((key) => filled.get(key));
  for (let row = 0; row < regions.count; row++) {
    const set = filledOf[regions.what[row] as number];
    if (set !== undefined) set.rows[set.n++] = row;
  }
  return new Map([...filled].map(([key, { rows }]) => [key, { all: regions, rows }]));
}
