/** The regions of one class. */
import { numberOrder } from "../../columnar/keys/number-order.ts";
import { placeList } from "../../label/regions/places.ts";
import type { Regions } from "../../label/regions/region-map.ts";

export interface RegionSet {
  readonly all: Regions;
  /** Rows of the class, ascending: in order of process, address and birth. */
  readonly rows: Uint32Array;
  /** The same in order of birth, and of death; found once, when first asked for. */
  readonly byBirth: Uint32Array;
  readonly byDeath: Uint32Array;
}

/** No region at all. */
export function noRegions(): Regions {
  return { ...placeList().places, facts: [] };
}

export function regionSet(all: Regions, rows: Uint32Array): RegionSet {
  let births: Uint32Array | null = null;
  let deaths: Uint32Array | null = null;
  return {
    all,
    rows,
    get byBirth() {
      births ??= numberOrder(rows, all.birth_ns);
      return births;
    },
    get byDeath() {
      deaths ??= numberOrder(rows, all.death_ns);
      return deaths;
    },
  };
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
  return new Map([...filled].map(([key, { rows }]) => [key, regionSet(regions, rows)]));
}
