/** Small inputs made by hand. */
import type { AnalysisInput, RegionSample, WatchSample } from "../../../src/analyse/input/input.ts";
import { OP } from "../../../src/schema/operation.ts";

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
    hit_ns: Float64Array.from(hits, ([time]) => time),
    hit_op: Uint8Array.from(hits, ([, op]) => OP[op]),
    region_death_ns: null,
    region_birth_ns: 0,
    ...over,
  };
}

export function region(over: Partial<RegionSample> = {}): RegionSample {
  return {
    region_type: "activation",
    mapping_kind: "anon",
    logical_id: null,
    tensor: null,
    pid: 1,
    addr: 0n,
    size_bytes: 8000,
    birth_ns: 0,
    death_ns: 1000 * MS,
    birth_censored: false,
    death_censored: true,
    ...over,
  };
}

export function input(over: Partial<AnalysisInput> = {}): AnalysisInput {
  return {
    run_id: "r",
    t0_ns: 0n,
    window_ns: 1000 * MS,
    watches: [],
    regions: [],
    steps: [],
    kvRows: [],
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
