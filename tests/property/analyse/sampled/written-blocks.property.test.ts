import { expect, test } from "bun:test";
import fc from "fast-check";
import { PAGE_GRAINS, type StoreRuns } from "../../../../src/analyse/input/input.ts";
import { blockPlan } from "../../../../src/analyse/sampled/block-sums.ts";
import { reduceSamples } from "../../../../src/analyse/sampled/reduce-samples.ts";
import type { RegionType } from "../../../../src/schema/words.ts";
import { regionsOf } from "../../../fixtures/regions.ts";
import { groupsOf } from "../../../fixtures/sampled-rows.ts";

/** Above 2^32, so that both words of a time count. */
const ORIGIN = 12_345_678_901n;
const GAP_NS = 100;
const END_NS = 50_000;
const LEVEL = 1e-4;
const MIB = 2 ** 20;

interface Region {
  readonly id: number;
  readonly type: RegionType;
  readonly addr: number;
  readonly size: number;
  readonly birth: number;
  readonly death: number | null;
}

/**
 * A cache that was emptied, a mapping that held whole blocks of every grain and died, its heir, one that died and held no
 * whole block of the larger grains, a cache above 2^32, and the neighbour of the last but one.
 */
const REGIONS: readonly Region[] = [
  { id: 1, type: "kv_cache", addr: 0, size: 4 * MIB, birth: 0, death: null },
  { id: 2, type: "activation", addr: 8 * MIB, size: 2 * MIB, birth: 0, death: 20_000 },
  { id: 3, type: "activation", addr: 8 * MIB, size: 4 * MIB, birth: 20_000, death: null },
  { id: 4, type: "unknown", addr: 16 * MIB + 4096, size: MIB / 2, birth: 0, death: 20_000 },
  { id: 6, type: "kv_cache", addr: 2 ** 40, size: MIB, birth: 0, death: null },
  { id: 5, type: "unknown", addr: 16 * MIB + 4096 + MIB / 2, size: MIB / 2, birth: 0, death: null },
];
const CLEARS = [10_000, 30_000];

interface Store {
  readonly region: Region;
  readonly pid: number;
  readonly address: number;
  readonly time: number;
  readonly op: "store" | "load_store" | "load";
  readonly source: (typeof SOURCES)[number];
  readonly period: number;
}

const SOURCES = ["pebs", "ibs", "clock"] as const;

/**
 * So little that the blocks fall into parts, or enough for all of them. 12,000 are 20 pages that are written: one process
 * writes at most 16 of any 2 MiB here, 8 of two regions as two sources see them.
 */
const memoryBytes = fc.constantFrom(12_000, 18_000, 1 << 29);

const store: fc.Arbitrary<Store> = fc
  .record({
    region: fc.constantFrom(...REGIONS),
    pid: fc.constantFrom(7, 7, 8),
    place: fc.tuple(fc.constantFrom(0, 4096, 65_536, MIB), fc.nat(20)),
    time: fc.oneof(
      fc.nat(END_NS + 50),
      fc.constantFrom(...CLEARS, 0, GAP_NS),
      fc.tuple(fc.nat(4), fc.nat(12)).map(([at, offset]) => 12_000 * at + offset),
    ),
    op: fc.constantFrom("store" as const, "store" as const, "load_store" as const, "load" as const),
    source: fc.constantFrom("pebs" as const, "pebs" as const, "ibs" as const, "clock" as const),
    period: fc.constantFrom(0, 97),
  })
  .map(({ place: [grain, offset], time, ...rest }) => ({
    ...rest,
    // Rows are labelled by what is alive: none of the dead, and of the heir none before.
    time: rest.region.death === null ? Math.max(time, rest.region.birth) : Math.min(time, rest.region.death - 1),
    address: rest.region.addr + Math.min(rest.region.size - 1, grain + offset),
  }));

const none = (): Record<keyof StoreRuns, number> => ({ blocks: 0, runs: 0, samples: 0, runs_of_1: 0, runs_of_2: 0 });

/** Blocks of one class and grain, one by one. */
function byHand(stores: readonly Store[], grain: number) {
  const blocks = new Map<string, Store[]>();
  for (const one of [...stores].sort((a, b) => a.time - b.time)) {
    const key = `${one.pid}/${Math.floor(one.address / grain)}`;
    blocks.set(key, [...(blocks.get(key) ?? []), one]);
  }
  const out = { once: none(), rewritten: none(), open: none() };
  for (const list of blocks.values()) {
    const lives: Store[][] = [];
    let before: Store | undefined;
    for (const one of list) {
      const begin = Math.floor(one.address / grain) * grain;
      const { death, addr, size } = before?.region ?? { death: null, addr: 0, size: 0 };
      const freed = death !== null && death <= one.time && addr <= begin && addr + size >= begin + grain;
      const from = before?.time ?? 0;
      const cleared = one.region.type === "kv_cache" && CLEARS.some((clear) => clear > from && clear <= one.time);
      if (before === undefined || freed || cleared) lives.push([]);
      lives.at(-1)?.push(one);
      before = one;
    }
    for (const life of lives) {
      const runs: number[][] = [];
      for (const { time } of life) {
        if (time - (runs.at(-1)?.at(-1) ?? Number.NEGATIVE_INFINITY) >= GAP_NS) runs.push([]);
        runs.at(-1)?.push(time);
      }
      const sure = runs.some((run, i) => {
        const last = runs[i - 1];
        if (last === undefined) return false;
        const pause = (run[0] ?? 0) - (last.at(-1) ?? 0);
        const chances = [last, run].map((one) => {
          const length = Math.max(1, (one.at(-1) ?? 0) - (one[0] ?? 0));
          return one.length * (length / (length + pause)) ** (one.length - 1);
        });
        return Math.max(...chances) * (runs.length - 1) <= LEVEL;
      });
      const sum = runs.length === 1 ? out.once : sure ? out.rewritten : out.open;
      sum.blocks += 1;
      sum.runs += runs.length;
      sum.samples += life.length;
      sum.runs_of_1 += runs.filter((run) => run.length === 1).length;
      sum.runs_of_2 += runs.filter((run) => run.length === 2).length;
    }
  }
  return out;
}

test("runs of stores are told apart, block by block and life by life, as one would by hand", async () => {
  const span = { begin_ns: 0, end_ns: END_NS };
  const input = {
    ...span,
    regions: regionsOf(
      REGIONS.map(({ type, addr, size, birth, death }) => ({
        region_type: type,
        mapping_kind: "heap",
        addr: BigInt(addr),
        size_bytes: size,
        birth_ns: birth,
        death_ns: death ?? 90_000,
        death_censored: death === null,
      })),
    ),
    originNs: ORIGIN,
    plan: blockPlan(span, []),
    clears: Float64Array.from(CLEARS),
    gapNs: GAP_NS,
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(store, { minLength: 1, maxLength: 80, size: "max" }),
      memoryBytes,
      fc.integer({ min: 1, max: 80 }),
      async (stores, memory, groupRows) => {
        const samples = [...stores]
          .sort((a, b) => a.time - b.time)
          .map(({ region, time, ...rest }) => ({
            ...rest,
            region_id: region.id,
            time_ns: Number(ORIGIN) + time,
          }));
        const found = await reduceSamples({ ...input, memoryBytes: memory }, () => groupsOf(samples, groupRows));
        const mine = stores.filter(({ op, source, time }) => op !== "load" && source !== "clock" && time <= END_NS);
        for (const type of new Set(REGIONS.map((region) => region.type))) {
          for (const source of SOURCES) {
            const own = mine.filter((one) => one.region.type === type && one.source === source);
            const said = found.find((sums) => sums.class.region_type === type && sums.source === source);
            const hand = PAGE_GRAINS.map((grain) => ({ grain_bytes: grain, ...byHand(own, grain) }));
            if (said !== undefined || own.length > 0) expect(said?.written).toEqual(hand);
          }
        }
      },
    ),
    { numRuns: 200 },
  );
});

test("a process that touches more in 2 MiB than there is memory for is refused, not tried for ever", async () => {
  const samples = Array.from({ length: 64 }, (_, i) => ({
    address: 4096 * i,
    time_ns: i,
    region_id: 0,
    pid: 7,
    source: "pebs",
    op: "store" as const,
    period: 1,
  }));
  const span = { begin_ns: 0, end_ns: 100 };
  const input = {
    ...span,
    regions: regionsOf([]),
    originNs: 0n,
    plan: blockPlan(span, []),
    clears: new Float64Array(0),
    gapNs: 1,
  };
  const reduce = (memoryBytes: number) => reduceSamples({ ...input, memoryBytes }, () => groupsOf(samples));
  expect((await reduce(64 * 4 * 144))[0]?.written[0]?.once.blocks).toBe(64);
  await expect(reduce(63 * 4 * 144)).rejects.toThrow("samples fall on more blocks than");
});
