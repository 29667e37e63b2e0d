/** What the reduction of samples needs to know of regions, by the region's number. */
import { goneNs } from "../../label/regions/places.ts";
import type { Regions } from "../../label/regions/region-map.ts";
import { type SampleClass, sourceKey } from "./sample-owners.ts";

/** Regions by number, from 1; 0 is what no region holds. */
export interface NumberedRegions {
  readonly classes: readonly SampleClass[];
  /** Position in `classes`; -1 for a region whose samples are passed over. */
  classOf(region: number): number;
  /** Whether the life of a block also ends when the engine empties its cache. */
  isCache(region: number): boolean;
  /** When the region died that holds all of [begin, end), whole ns since the origin; Infinity where it does not, or lived on. */
  deathAround(region: number, begin: number, end: number): number;
}

export function numberedRegions(regions: Regions): NumberedRegions {
  const unknown: SampleClass = { region_type: "unknown", mapping_kind: null };
  const classes = [unknown];
  const kindOf = new Map([[sourceKey(unknown, ""), 0]]);
  const kinds = Uint32Array.from(regions.facts, (facts) => {
    const key = sourceKey(facts, "");
    const kind = kindOf.get(key) ?? classes.push(facts) - 1;
    kindOf.set(key, kind);
    return kind;
  });
  const caches = Uint8Array.from(regions.facts, ({ region_type }) => (region_type === "kv_cache" ? 1 : 0));
  const { count, what } = regions;
  const isRegion = (region: number): boolean => region > 0 && region <= count;
  return {
    classes,
    classOf: (region) => (isRegion(region) ? (kinds[what[region - 1] as number] as number) : 0),
    isCache: (region) => isRegion(region) && caches[what[region - 1] as number] === 1,
    deathAround(region, begin, end) {
      const row = region - 1;
      const isWhole =
        isRegion(region) && (regions.begin[row] as number) <= begin && (regions.end[row] as number) >= end;
      return isWhole ? Math.round(goneNs(regions, row)) : Number.POSITIVE_INFINITY;
    },
  };
}

/** The same with a class for each of the chosen regions, numbered from 1; samples of all others are passed over. */
export function singleRegions(regions: Regions, chosen: readonly number[]): NumberedRegions {
  const place = new Map(chosen.map((region, i) => [region, i]));
  const classes = chosen.map((region): SampleClass => {
    const { region_type = "unknown", mapping_kind = null } = regions.facts[regions.what[region - 1] as number] ?? {};
    return { region_type, mapping_kind, region };
  });
  return { ...numberedRegions(regions), classes, classOf: (region) => place.get(region) ?? -1 };
}
