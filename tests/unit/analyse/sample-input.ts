/** Small inputs made by hand. */
import type { AnalysisInput, WatchSample } from "../../../src/analyse/input/input.ts";
import { OP } from "../../../src/schema/operation.ts";
import { type GivenRegion, regionsOf } from "../../fixtures/regions.ts";

export const MS = 1e6;

/** One watch; hits as [time_ns, kind of OP]. */
export function watch(
  hits: readonly (readonly [number, keyof typeof OP])[],
  over: Partial<WatchSample> = {},
): WatchSample {
  return {
    watch_id: 1,
    pid: 1,
    addr: 4096n,
    size_bytes: 8,
    mode: "rw",
    design: "short",
    stratum: "s",
    region_type: "activation",
    mapping_kind: "anon",
    tensor: null,
    stratum_bytes: 8000,
    inclusion_probability: 0.001,
    draw_weight: 1,
    begin_ns: 0,
    end_ns: 100 * MS,
    ended_by: "dwell",
    trap_limit: 8,
    dwell_limit_ns: 100 * MS,
    hit_ns: Float64Array.from(hits, ([time]) => time),
    hit_op: Uint8Array.from(hits, ([, op]) => OP[op]),
    region_death_ns: null,
    region_birth_ns: 0,
    ...over,
  };
}

/** A region of 8000 bytes that outlives a run of a second. */
export function region(over: GivenRegion = {}): GivenRegion {
  return { size_bytes: 8000, death_ns: 1000 * MS, ...over };
}

export type GivenInput = Partial<Omit<AnalysisInput, "regions">> & { readonly regions?: readonly GivenRegion[] };

export function input({ regions = [], ...over }: GivenInput = {}): AnalysisInput {
  return {
    run_id: "r",
    t0_ns: 0n,
    window_ns: 1000 * MS,
    watches: [],
    regions: regionsOf(regions),
    steps: [],
    kvRows: [],
    kvUntold: null,
    kvWritesUntold: null,
    accessSums: [],
    allocations: [],
    streams: [],
    counts: null,
    ledger: [],
    trap_cost_ns: null,
    seed: 1,
    sight: [],
    ...over,
  };
}
