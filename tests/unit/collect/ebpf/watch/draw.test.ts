import { describe, expect, test } from "bun:test";
import {
  createDrawer,
  type Draw,
  type DrawRegion,
  drawWord,
  frameOf,
  lineMate,
  wordsOf,
} from "../../../../../src/collect/ebpf/watch/draw.ts";
import { type StratumFacts, stratumOf } from "../../../../../src/collect/ebpf/watch/stratum.ts";
import type { RegionType } from "../../../../../src/schema/words.ts";
import { seededDraws } from "../../../../../src/statistics/prng.ts";

function region(stratum: string, addr: bigint, size_bytes: number): DrawRegion {
  return { pid: 1, addr, size_bytes, stratum, region_type: stratum.split("/")[0] as RegionType, tensor: null };
}

describe("the words of a region", () => {
  test.each([
    [0x1000n, 64, { first: 0x1000n, sizeBytes: 8, count: 8 }],
    [0x1001n, 64, { first: 0x1008n, sizeBytes: 8, count: 7 }],
    [0x1000n, 7, { first: 0x1000n, sizeBytes: 4, count: 1 }],
    [0x1003n, 2, { first: 0x1003n, sizeBytes: 1, count: 2 }],
    [0x1000n, 0, null],
  ])("at %p with %p bytes lie inside it and are aligned", (addr, size, words) => {
    expect(wordsOf(addr, size)).toEqual(words);
  });
});

describe("a draw from one stratum", () => {
  const frame = frameOf([region("a", 0x1000n, 80), region("a", 0x5000n, 0), region("a", 0x9004n, 36)]);

  test("takes every word equally often, and says with which probability", () => {
    const random = seededDraws(1);
    const seen = new Map<bigint, number>();
    const draws = 14_000;
    for (let i = 0; i < draws; i++) {
      const draw = drawWord(frame, random, 1);
      if (!draw) throw new Error("nothing drawn");
      expect(draw.inclusionProbability).toBeCloseTo(1 / 14, 12);
      expect(draw.stratumBytes).toBe(112);
      seen.set(draw.addr, (seen.get(draw.addr) ?? 0) + 1);
    }
    expect(seen.size).toBe(14);
    for (const n of seen.values()) expect(Math.abs(n - draws / 14)).toBeLessThan(5 * Math.sqrt(draws / 14));
  });
  test("is the same for the same seed, and another for another", () => {
    const first = (seed: number) => {
      const random = seededDraws(seed);
      return Array.from({ length: 20 }, () => drawWord(frame, random, 1)?.addr);
    };
    expect(first(7)).toEqual(first(7));
    expect(first(7)).not.toEqual(first(8));
  });
  test("finds another word of its line for a cohort, never itself nor a word outside the region", () => {
    const random = seededDraws(3);
    const draw = drawWord(frameOf([region("a", 0x1020n, 16)]), random, 1);
    if (!draw) throw new Error("nothing drawn");
    expect(new Set([draw.addr, lineMate(draw, random)?.addr])).toEqual(new Set([0x1020n, 0x1028n]));
    const alone = drawWord(frameOf([region("a", 0x1020n, 8)]), random, 1);
    if (!alone) throw new Error("nothing drawn");
    expect(lineMate(alone, random)).toBeNull();
  });
});

describe("turns", () => {
  const regions = [
    region("weight/q8_0", 0x10000n, 1 << 20),
    region("kv_cache/k", 0x800000n, 4096),
    region("runtime/heap", 0xa00000n, 1 << 24),
    region("activation", 0xb0000000n, 0),
  ];
  test("are equal over classes of data whatever their size, a quarter for the rest, none for empty strata", () => {
    const drawer = createDrawer(seededDraws(1));
    const turns = new Map<string, number>();
    for (let i = 0; i < 900; i++) {
      const draw = drawer.draw(regions);
      if (!draw) throw new Error("nothing drawn");
      turns.set(draw.region.stratum, (turns.get(draw.region.stratum) ?? 0) + 1);
      expect(draw.drawWeight).toBeCloseTo(draw.region.region_type === "runtime" ? 0.25 / 2.25 : 1 / 2.25, 12);
    }
    expect(turns).toEqual(new Map([...turns].map(([stratum]) => [stratum, stratum === "runtime/heap" ? 100 : 400])));
    expect(turns.size).toBe(3);
  });
  test("go by what is in memory of what no engine names, not by what is mapped", () => {
    const mapped = [region("unknown/anon", 0x10000n, 1 << 22), region("unknown/shmem", 0x80000000n, 1 << 30)];
    const resident = {
      has: () => true,
      bytesOf: (stratum: string) => (stratum === "unknown/shmem" ? 4096 : 1 << 22),
    };
    const drawer = createDrawer(seededDraws(1), resident);
    const drawn = Array.from({ length: 400 }, () => drawer.draw(mapped));
    // Three quarters, but for the first draws, before any told how much is in memory.
    expect(drawn.filter((draw) => draw?.region.stratum === "unknown/anon").length).toBeWithin(295, 302);
    expect(drawn.at(-1)?.drawWeight).toBeWithin(0.249, 0.751);
  });
  test("are noted with each draw as they are while another stratum has nothing in memory, and its turns fall to the others", () => {
    const mapped = [region("unknown/anon", 0x10000n, 1 << 22), region("unknown/shmem", 0x80000000n, 1 << 22)];
    let isEmpty = false;
    const resident = {
      has: ({ stratum }: DrawRegion) => !(isEmpty && stratum === "unknown/shmem"),
      bytesOf: (_: string, { bytes }: { bytes: number }) => bytes,
    };
    const drawer = createDrawer(seededDraws(1), resident);
    const found = (count: number): Draw[] => {
      const draws: Draw[] = [];
      while (draws.length < count) draws.push(...[drawer.draw(mapped) ?? []].flat());
      return draws;
    };
    /** Turns for which the draws of a stratum stand. */
    const standFor = (draws: readonly Draw[]): number =>
      draws
        .filter(({ region: { stratum } }) => stratum === "unknown/anon")
        .reduce((sum, { drawWeight }) => sum + 1 / drawWeight, 0);
    expect(standFor(found(400))).toBeWithin(398, 402);
    isEmpty = true;
    expect(standFor(found(400))).toBeWithin(398, 402);
    isEmpty = false;
    expect(standFor(found(400))).toBeWithin(398, 402);
  });
  test("take up regions that appear, and give nothing where there are none", () => {
    const drawer = createDrawer(seededDraws(1));
    expect(drawer.draw([])).toBeNull();
    expect(drawer.draw(regions)).not.toBeNull();
    const other = [region("weight/f16", 0x1000n, 64)];
    expect(drawer.draw(other)?.region).toBe(other[0] as DrawRegion);
  });
});

describe("a stratum", () => {
  const facts: StratumFacts = {
    region_type: "weight",
    tensor_type: "q8_0",
    logical_id: null,
    mapping_kind: null,
  };
  test.each([
    [facts, "weight/q8_0"],
    [{ ...facts, region_type: "kv_cache", logical_id: "layer3.v" }, "kv_cache/v"],
    [{ ...facts, region_type: "activation" }, "activation"],
    [{ ...facts, region_type: "runtime", mapping_kind: "heap" }, "runtime/heap"],
    [{ ...facts, region_type: "unknown", mapping_kind: "anon" }, "unknown/anon"],
    [{ ...facts, region_type: "unknown", mapping_kind: "vdso" }, null],
  ] as const)("of %o is %s", (of, stratum) => {
    expect(stratumOf(of)).toBe(stratum);
  });
});
