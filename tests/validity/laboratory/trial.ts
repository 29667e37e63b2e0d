/** One run of a world under the policy of the product: its watches as the metrics read them. */
import type { AnalysisInput, WatchSample } from "../../../src/analyse/input/input.ts";
import { ATTENTIVE_MS } from "../../../src/collect/ebpf/part.ts";
import type { DrawRegion } from "../../../src/collect/ebpf/watch/draw.ts";
import { type WatchSummary, watchOver } from "../../../src/collect/ebpf/watch/watch.ts";
import type { Batch } from "../../../src/columnar/batch.ts";
import { unevenRest } from "../../../src/record/poll-pace.ts";
import { OP } from "../../../src/schema/operation.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { regionsOf } from "../../fixtures/regions.ts";
import { addrOf, PID, simulatedMachine } from "./machine.ts";
import type { World } from "./world.ts";

/** As the recorder rests while watches run, where nothing fills its rings. */
const REST_MS = ATTENTIVE_MS;
/** The default of --budget. */
const BUDGET_PCT = 1;
const REST_STREAM = 5;

type Cell = string | number | bigint | undefined;

function rowsOf(batches: readonly Batch[], table: string): Record<string, Cell>[] {
  return batches
    .filter((batch) => batch.table === table)
    .flatMap((batch) => {
      const cells = Object.entries(batch.columns).map(
        ([name, column]) =>
          [
            name,
            "codes" in column ? [...column.codes].map((code) => column.values[code]) : [...column.data],
          ] as readonly [string, Cell[]],
      );
      return Array.from({ length: batch.rows }, (_, i) =>
        Object.fromEntries(cells.map(([name, all]) => [name, all[i]])),
      );
    });
}

/** Watches of recorded batches, times since `originNs`. */
export function samplesOf(batches: readonly Batch[], originNs: bigint): WatchSample[] {
  const since = (ns: Cell): number => Number(BigInt(ns as bigint) - originNs);
  const hits = Map.groupBy(rowsOf(batches, "access"), (row) => row.watch_id);
  return rowsOf(batches, "watch").map((row): WatchSample => {
    const own = hits.get(row.watch_id) ?? [];
    return {
      ...(row as unknown as WatchSample),
      size_bytes: Number(row.size_bytes),
      stratum_bytes: Number(row.stratum_bytes),
      mapping_kind: null,
      tensor: null,
      dwell_limit_ns: Number(row.dwell_limit_ns),
      begin_ns: since(row.timestamp_ns),
      end_ns: since(row.end_ns),
      hit_ns: Float64Array.from(own, (hit) => since(hit.timestamp_ns)),
      hit_op: Uint8Array.from(own, (hit) => OP[hit.op_type as keyof typeof OP]),
      region_death_ns: null,
      region_birth_ns: -1e9,
    };
  });
}

export interface Trial {
  readonly input: AnalysisInput;
  readonly summary: WatchSummary;
}

/** Watches the world from its begin to its end, with the budget, the draws and the ends of the product. */
export function tryWorld(world: World, seed: number, budgetPct = BUDGET_PCT): Trial {
  const machine = simulatedMachine(world);
  const regions = world.strata.map(
    ({ stratum, region_type, words }, i): DrawRegion => ({
      pid: PID,
      addr: addrOf(i, 0),
      size_bytes: 8 * words.length,
      stratum,
      region_type,
      tensor: null,
    }),
  );
  using source = watchOver(machine, {
    regions: () => regions,
    tokenPeriodNs: () => world.token_period_ns,
    rowsAhead: () => [],
    budgetPct,
    registers: 4,
    seed,
    affinityCpus: [],
  });
  const batches: Batch[] = [];
  const isStopped = (now: number): boolean =>
    world.stopped_ns?.some(([begin, end]) => now >= begin && now < end) ?? false;
  const rests = seededRandom(seed, REST_STREAM);
  for (let now = 0; now < world.run_ns; now += 1e6 * unevenRest(REST_MS, rests)) {
    if (isStopped(now)) continue;
    machine.setNow(now);
    source.poll(BigInt(Math.round(now)));
    batches.push(...source.batches());
  }
  machine.setNow(world.run_ns);
  const { batches: rest, summary, ledger } = source.stop();
  const input: AnalysisInput = {
    run_id: `world-${seed}`,
    t0_ns: 0n,
    window_ns: world.run_ns,
    watches: samplesOf([...batches, ...rest], 0n),
    regions: regionsOf(
      regions.map((region) => ({
        ...region,
        mapping_kind: null,
        logical_id: null,
        birth_ns: 0,
        death_ns: world.run_ns,
        birth_censored: false,
        death_censored: true,
      })),
    ),
    steps: world.steps,
    kvRows: [],
    kvUntold: null,
    accessSums: [],
    allocations: [],
    streams: [],
    counts: null,
    ledger,
    trap_cost_ns: null,
    seed,
    sight: [],
  };
  return { input, summary };
}
