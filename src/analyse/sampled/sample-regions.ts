/** What the reduction of samples needs to know of each region, as arrays by the region's number. */
import { type SampleClass, sourceKey } from "./sample-owners.ts";

/** A region as far as its blocks live and die with it; times as ns since the origin. */
export interface SampleRegion extends SampleClass {
  /** From 1; 0 is what no region holds. */
  readonly region_id: number;
  readonly begin: number;
  readonly end: number;
  readonly death_ns: number;
  readonly death_censored: boolean;
}

export interface RegionArrays {
  /** First byte, and the one behind the last. */
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** Infinity for what outlived the run. */
  readonly death_ns: Float64Array;
  /** 1 where the life of a block also ends when the engine empties its cache. */
  readonly isCache: Uint8Array;
  /** Position in `classes`. */
  readonly kind: Uint32Array;
  readonly classes: readonly SampleClass[];
}

export function regionArrays(regions: readonly SampleRegion[]): RegionArrays {
  const length = regions.reduce((most, { region_id }) => Math.max(most, region_id), 0) + 1;
  const unknown: SampleClass = { region_type: "unknown", mapping_kind: null };
  const classes = [unknown];
  const kindOf = new Map([[sourceKey(unknown, ""), 0]]);
  const arrays = {
    begin: new Float64Array(length),
    end: new Float64Array(length),
    death_ns: new Float64Array(length).fill(Number.POSITIVE_INFINITY),
    isCache: new Uint8Array(length),
    kind: new Uint32Array(length),
    classes,
  };
  for (const region of regions) {
    const { region_id, begin, end, death_ns, death_censored, region_type } = region;
    const key = sourceKey(region, "");
    const kind = kindOf.get(key) ?? classes.push(region) - 1;
    kindOf.set(key, kind);
    arrays.begin[region_id] = begin;
    arrays.end[region_id] = end;
    if (!death_censored) arrays.death_ns[region_id] = Math.round(death_ns);
    arrays.isCache[region_id] = region_type === "kv_cache" ? 1 : 0;
    arrays.kind[region_id] = kind;
  }
  return arrays;
}
