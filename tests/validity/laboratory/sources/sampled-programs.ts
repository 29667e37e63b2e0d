/** Programs of which every access is known, sampled: what the product's sampled figures say of them. */
import type { AccessSums } from "../../../../src/analyse/input/input.ts";
import { GRAINS, PAGE_GRAINS } from "../../../../src/analyse/input/input.ts";
import { sumAccesses } from "../../../../src/analyse/input/load-access-sums.ts";
import { computeMetrics } from "../../../../src/analyse/metrics/registry.ts";
import { OP } from "../../../../src/schema/operation.ts";
import type { Truth } from "../../../../src/simulate/true-quantiles.ts";
import { type Random, seededRandom } from "../../../../src/statistics/prng.ts";
import { regionsOf } from "../../../fixtures/regions.ts";
import { groupsOf } from "../../../fixtures/sampled-rows.ts";
import { input } from "../../../unit/analyse/sample-input.ts";
import { PROGRAMS, type Program } from "./instructions.ts";
import { clock, ibs, pebs, type Sampler } from "./samplers.ts";
import { nameOf, type SourceRun, type SourceWorld } from "./source-world.ts";

/** A slow machine, so that a run of seconds has few enough accesses to be gone through. */
const CYCLE_NS = 100;
const GAP_NS = 50_000;
const LINE_BYTES = 64;

interface Counted {
  loads: number;
  stores: number;
  readonly blocks: readonly Set<number>[];
  /** Write epochs of each block, and its last store, by grain of a page or more. */
  readonly epochs: readonly Map<number, { count: number; last_ns: number }>[];
}

/** Goes through every access of the program. @returns what was counted of each buffer, and how long it took */
function exact(program: Program, random: Random, samplers: readonly Sampler[]) {
  const counted = program.buffers.map(
    (): Counted => ({
      loads: 0,
      stores: 0,
      blocks: GRAINS.map(() => new Set<number>()),
      epochs: PAGE_GRAINS.map(() => new Map()),
    }),
  );
  let now = 0;
  const take = (buffer: number, addr: number, op: number, cycles: number, ops: number): void => {
    const counts = counted[buffer] as Counted;
    const length = CYCLE_NS * cycles;
    if (op === OP.load) counts.loads += 1;
    else {
      counts.stores += 1;
      for (const [i, grain] of PAGE_GRAINS.entries()) {
        const block = Math.floor(addr / grain);
        const epoch = counts.epochs[i]?.get(block) ?? { count: 0, last_ns: Number.NEGATIVE_INFINITY };
        if (now - epoch.last_ns >= GAP_NS) epoch.count += 1;
        epoch.last_ns = now;
        counts.epochs[i]?.set(block, epoch);
      }
    }
    for (const [i, grain] of GRAINS.entries()) counts.blocks[i]?.add(Math.floor(addr / grain));
    for (const sampler of samplers) sampler.take(buffer, addr, op, now, length, ops);
    now += length;
  };
  for (let token = 0; token < program.tokens; token++) program.token(token, random, take);
  return { counted, window_ns: now };
}

function truthOf(program: Program, counted: readonly Counted[], window_ns: number): Map<string, Truth | null> {
  const truth = new Map<string, Truth | null>();
  const seconds = window_ns / 1e9;
  for (const [i, { region_type, size_bytes }] of program.buffers.entries()) {
    const { loads, stores, blocks, epochs } = counted[i] as Counted;
    const put = (metric: string, value: number, grain_bytes: number | null = null): void => {
      if (Number.isFinite(value))
        truth.set(nameOf({ metric, region_type, grain_bytes, step: "all" }), { lo: value, hi: value });
    };
    put("loads_per_s", loads / seconds);
    put("stores_per_s", stores / seconds);
    put("loads_per_store", loads / stores);
    put("iai_mean_ns", (window_ns * (size_bytes / LINE_BYTES)) / (loads + stores), LINE_BYTES);
    for (const [g, grain] of GRAINS.entries()) put("working_set_bytes", (blocks[g]?.size ?? 0) * grain, grain);
    for (const [g, grain] of PAGE_GRAINS.entries()) {
      const all = [...(epochs[g]?.values() ?? [])];
      put("write_once_ratio", all.filter(({ count }) => count === 1).length / all.length, grain);
    }
  }
  return truth;
}

function sumsOf(program: Program, samplers: readonly Sampler[], window_ns: number): Promise<AccessSums[]> {
  const samples = samplers
    .flatMap(({ source, samples: taken }) =>
      taken.map(({ addr, op, time_ns, period, buffer }) => ({
        address: addr,
        time_ns: Math.round(time_ns),
        region_id: buffer + 1,
        pid: 1,
        source,
        op: op === OP.load ? ("load" as const) : ("store" as const),
        period,
      })),
    )
    .sort((a, b) => a.time_ns - b.time_ns);
  return sumAccesses(
    {
      regions: regionsOf(given(program, window_ns)),
      steps: [],
      originNs: 0n,
      windowNs: window_ns,
      clears: new Float64Array(0),
      gapNs: GAP_NS,
      memoryBytes: 2 ** 28,
    },
    () => groupsOf(samples),
  );
}

const given = (program: Program, window_ns: number) =>
  program.buffers.map(({ addr, ...buffer }) => ({
    ...buffer,
    pid: 1,
    addr: BigInt(addr),
    death_ns: Math.round(window_ns),
  }));

/** Kinds of accesses that are sampled at the level without a shadow. */
type Unshadowed = readonly ("loads" | "stores")[];

async function run(
  program: Program,
  make: (random: Random) => Sampler,
  unshadowed: Unshadowed,
  seed: number,
): Promise<SourceRun> {
  const samplers = [make(seededRandom(seed, 51))];
  const { counted, window_ns } = exact(program, seededRandom(seed, 52), samplers);
  const accessSums = await sumsOf(program, samplers, window_ns);
  const rows = computeMetrics(
    input({ window_ns: Math.round(window_ns), regions: given(program, window_ns), accessSums, unshadowed, seed }),
  );
  return { rows, truth: truthOf(program, counted, window_ns) };
}

/** Periods at which a run has some thousand samples. */
const PERIODS = { load: 1009, store: 211 };
/** What a PEBS assist may miss before it takes its sample, in cycles. */
const SHADOW = 8;

const world = (
  program: Program,
  what: string,
  make: (random: Random) => Sampler,
  unshadowed: Unshadowed = [],
): SourceWorld => ({
  name: `${program.name}${what}`,
  sources: ["pebs", "ibs", "clock"],
  run: (seed) => run(program, make, unshadowed, seed),
});

export const SAMPLED_PROGRAMS: readonly SourceWorld[] = PROGRAMS.flatMap((program) => [
  world(program, "", (random) => pebs(PERIODS, 0, random), ["loads", "stores"]),
  world(program, ` and a shadow of ${SHADOW} cycles`, (random) => pebs(PERIODS, SHADOW * CYCLE_NS, random)),
  world(program, "", (random) => ibs(16 * 251, random)),
  world(program, "", (random) => clock(1e6, random)),
]);
