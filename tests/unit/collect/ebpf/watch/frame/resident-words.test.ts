import { describe, expect, test } from "bun:test";
import { createDrawer, type DrawRegion, frameOf } from "../../../../../../src/collect/ebpf/watch/draw.ts";
import { createResidentWords, residentBytes } from "../../../../../../src/collect/ebpf/watch/frame/resident-words.ts";
import { seededDraws, seededRandom } from "../../../../../../src/statistics/prng.ts";

const PAGE = 4096;
const STRATUM = "unknown/anon";
const BASE = 0x7f00_0000_0000n;

function region(addr: bigint, size_bytes: number): DrawRegion {
  return { pid: 1, addr, size_bytes, stratum: STRATUM, region_type: "unknown", tensor: null, resident_only: true };
}

const pageOf = (addr: bigint): number => Number((addr - BASE) / BigInt(PAGE));

/** Three mappings that begin and end within pages, 100 pages in all, of which those that `isThere` names are in memory. */
const regions = [
  region(BASE + 64n, 40 * PAGE - 64),
  region(BASE + BigInt(60 * PAGE), 50 * PAGE),
  region(BASE + BigInt(200 * PAGE), 10 * PAGE),
];
const holed = (addr: bigint): boolean => pageOf(addr) % 7 < 3 || pageOf(addr) === 209;

describe("draws of words that are in memory", () => {
  test("are uniform over them: chi-square of 90,000 draws, by eighth of a page", () => {
    const residency = { isResident: (_: number, addr: bigint) => holed(addr) };
    const drawer = createDrawer(seededDraws(5), createResidentWords(residency, seededRandom(5)));
    const words = new Map<number, number>();
    for (const { addr, size_bytes } of regions) {
      for (let at = addr; at < addr + BigInt(size_bytes); at += 8n) {
        if (holed(at)) words.set(Number((at - BASE) / 512n), (words.get(Number((at - BASE) / 512n)) ?? 0) + 1);
      }
    }
    const total = [...words.values()].reduce((sum, n) => sum + n, 0);
    const draws = 90_000;
    const seen = new Map<number, number>();
    for (let i = 0; i < draws; i++) {
      const draw = drawer.draw(regions);
      if (!draw) throw new Error("nothing drawn");
      const cell = Number((draw.addr - BASE) / 512n);
      seen.set(cell, (seen.get(cell) ?? 0) + 1);
    }
    expect([...seen.keys()].every((cell) => words.has(cell))).toBe(true);
    let chiSquare = 0;
    for (const [cell, n] of words) {
      const expected = (draws * n) / total;
      chiSquare += ((seen.get(cell) ?? 0) - expected) ** 2 / expected;
    }
    const freedom = words.size - 1;
    // Beyond by chance in 1 of 1,000 seeds (Wilson and Hilferty, PNAS 17, 1931).
    const limit = freedom * (1 - 2 / (9 * freedom) + 3.09 * Math.sqrt(2 / (9 * freedom))) ** 3;
    expect(freedom).toBeGreaterThan(300);
    expect(chiSquare).toBeLessThan(limit);
  });

  test("say how many bytes could have been drawn, and with which probability", () => {
    const residency = { isResident: (_: number, addr: bigint) => holed(addr) };
    const drawer = createDrawer(seededDraws(6), createResidentWords(residency, seededRandom(6)));
    let truth = 0;
    for (const { addr, size_bytes } of regions) {
      for (let at = addr; at < addr + BigInt(size_bytes); at += 8n) if (holed(at)) truth += 8;
    }
    const n = 4000;
    let mean = 0;
    for (let i = 0; i < n; i++) {
      const draw = drawer.draw(regions);
      if (!draw) throw new Error("nothing drawn");
      expect(draw.sizeBytes / draw.inclusionProbability).toBeCloseTo(draw.stratumBytes, -1);
      mean += draw.stratumBytes / n;
    }
    expect(Math.abs(mean / truth - 1)).toBeLessThan(0.01);
  });

  test("are none where nothing is in memory, without end of tries", () => {
    let asked = 0;
    const isResident = () => {
      asked += 1;
      return false;
    };
    const drawer = createDrawer(seededDraws(1), createResidentWords({ isResident }, seededRandom(1)));
    expect(drawer.draw(regions)).toBeNull();
    expect(asked).toBeLessThanOrEqual(256);
  });

  test("leave words of tensors alone: they are drawn wherever they are", () => {
    const isResident = () => {
      throw new Error("asked");
    };
    const tensor = { ...region(BASE, PAGE), stratum: "weight/f16", resident_only: false };
    const drawer = createDrawer(seededDraws(1), createResidentWords({ isResident }, seededRandom(1)));
    const draw = drawer.draw([tensor]);
    expect(draw?.stratumBytes).toBe(PAGE);
    expect(draw?.inclusionProbability).toBe(8 / PAGE);
  });
});

describe("the bytes of a stratum in memory", () => {
  const mappings = [region(BASE, 3000 * PAGE), region(BASE + BigInt(9000 * PAGE), 5000 * PAGE)];

  test("are estimated without bias, whatever the pattern of holes", () => {
    for (const there of [
      (page: number) => page % 128 === 0,
      (page: number) => page % 3 !== 0,
      (page: number) => page < 1500,
      (page: number) => page >= 13_990,
    ]) {
      const frame = frameOf(mappings);
      let truth = 0;
      for (let page = 0; page < 14_000; page++) if ((page < 3000 || page >= 9000) && there(page)) truth += PAGE;
      const random = seededRandom(11);
      const n = 3000;
      const answers = Array.from({ length: n }, () =>
        residentBytes(frame, random, (_, addr) => there(pageOf(addr)), 16),
      );
      const mean = answers.reduce((sum, bytes) => sum + bytes, 0) / n;
      const variance = answers.reduce((sum, bytes) => sum + (bytes - mean) ** 2, 0) / (n - 1);
      expect(Math.abs(mean - truth)).toBeLessThanOrEqual(4 * Math.sqrt(variance / n));
    }
  });

  test("are those of the moment, asked for at each draw: 16 pages, or 64 where less than a quarter was there before", () => {
    let there = false;
    let asked = 0;
    const isResident = () => {
      asked += 1;
      return there;
    };
    const resident = createResidentWords({ isResident }, seededRandom(1));
    const frame = frameOf(mappings);
    const answers = [false, true, true, false, true].map((isThere) => {
      there = isThere;
      asked = 0;
      return [resident.bytesOf(STRATUM, frame), asked];
    });
    const all = frame.bytes;
    // A word was drawn where none of the pages that were asked for is there.
    expect(answers).toEqual([
      [8, 64],
      [all, 64],
      [all, 16],
      [8, 16],
      [all, 64],
    ]);
  });
});
