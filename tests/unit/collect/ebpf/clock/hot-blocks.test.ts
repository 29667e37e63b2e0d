import { describe, expect, test } from "bun:test";
import { createHotBlocks } from "../../../../../src/collect/ebpf/clock/hot-blocks.ts";
import type { DrawRegion } from "../../../../../src/collect/ebpf/watch/draw.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";

const SECOND_NS = 1_000_000_000n;
const BASE = 2 ** 40;
const MIB = 2 ** 20;
const region = (size_bytes: number, more: Partial<DrawRegion> = {}): DrawRegion => ({
  pid: 1,
  addr: BigInt(BASE),
  size_bytes,
  stratum: "unknown/anon",
  region_type: "unknown",
  tensor: null,
  ...more,
});
const WHOLE = region(64 * MIB);

/** What is split off of a region once some addresses were added, in KiB from its begin. */
function hotOf(addresses: readonly number[], from = WHOLE, pid = 1): [begin: number, kib: number][] {
  const blocks = createHotBlocks();
  blocks.turn(0n);
  for (const address of addresses) blocks.add(pid, BASE + address);
  blocks.turn(SECOND_NS);
  const parts = blocks.split([from]);
  expect(parts.reduce((sum, { size_bytes }) => sum + size_bytes, 0)).toBe(from.size_bytes);
  return parts
    .filter(({ stratum }) => stratum === "unknown/anon/sampled")
    .map(({ addr, size_bytes }) => [(Number(addr) - BASE) / 1024, size_bytes / 1024]);
}

/** So many places of a range, each as likely. */
function spread(count: number, from: number, size: number, seed = 1): number[] {
  const random = seededRandom(seed, 1);
  return Array.from({ length: count }, () => from + Math.floor(random() * size));
}

describe("hot blocks", () => {
  test("are a part of the memory that the program is in far more often than in the rest", () => {
    expect(hotOf([...spread(100, 0, 64 * MIB), ...spread(100, 8 * MIB, 64 * 1024)])).toEqual([[8192, 64]]);
    expect(hotOf([...spread(100, 0, 64 * MIB), ...spread(40, 8 * MIB, 4096)])).toEqual([[8192, 4]]);
  });

  test("are none where all memory is used alike, however often it was looked at", () => {
    for (const count of [3, 30, 300, 3000]) {
      for (let seed = 1; seed <= 20; seed++) expect(hotOf(spread(count, 0, 64 * MIB, seed))).toEqual([]);
    }
  });

  test("are a 32nd of a stratum at most: of a larger part is drawn often as it is", () => {
    expect(hotOf(spread(100, 0, 2 * MIB), region(2 * MIB))).toEqual([]);
    const parts = hotOf(spread(300, 0, 256 * 1024), region(4 * MIB));
    expect(parts.reduce((sum, [, kib]) => sum + kib, 0)).toBeLessThanOrEqual(128);
  });

  test("are none where one word has it all, which would not be drawn from its page either", () => {
    expect(hotOf(Array.from({ length: 500 }, () => 4096))).toEqual([]);
  });

  test("are of the process that uses them", () => {
    expect(hotOf(spread(100, 8 * MIB, 64 * 1024), WHOLE, 2)).toEqual([]);
  });

  test("are found once a second, and forgotten when nothing is there any more", () => {
    const blocks = createHotBlocks();
    blocks.turn(0n);
    const isHot = () => blocks.split([WHOLE]).length > 1;
    expect(isHot()).toBe(false);
    for (const address of spread(100, 8 * MIB, 64 * 1024)) blocks.add(1, BASE + address);
    blocks.turn(SECOND_NS / 2n);
    expect(isHot()).toBe(false);
    blocks.turn(SECOND_NS);
    expect(isHot()).toBe(true);
    expect(blocks.hotBytes()).toBe(64 * 1024);
    for (let second = 2n; second < 60n; second++) blocks.turn(second * SECOND_NS);
    expect(isHot()).toBe(false);
    expect(blocks.hotBytes()).toBe(0);
  });

  test("have a quarter of the turns of their stratum", () => {
    const blocks = createHotBlocks();
    blocks.turn(0n);
    for (const address of spread(100, 8 * MIB, 64 * 1024)) blocks.add(1, BASE + address);
    blocks.turn(SECOND_NS);
    const parts = blocks.split([WHOLE]);
    expect(parts.map(({ part_of_turns }) => part_of_turns)).toEqual([undefined, 0.25, undefined]);
  });

  test("are of one stratum alone: what lies beside it in another is left as it is", () => {
    const blocks = createHotBlocks();
    blocks.turn(0n);
    for (const address of spread(100, 8 * MIB - 60 * 1024, 60 * 1024)) blocks.add(1, BASE + address);
    blocks.turn(SECOND_NS);
    const [first, second] = [
      region(8 * MIB - 1024),
      region(64 * MIB, { addr: BigInt(BASE + 8 * MIB - 1024), stratum: "unknown/heap" }),
    ];
    const parts = blocks.split([first, second]);
    expect(parts.filter(({ stratum }) => stratum === "unknown/anon/sampled").length).toBeGreaterThan(0);
    expect(parts.filter(({ stratum }) => stratum.startsWith("unknown/heap"))).toEqual([second]);
  });

  test("are remembered for so many lines only, whatever falls", () => {
    const blocks = createHotBlocks();
    blocks.turn(0n);
    for (const address of spread(100_000, 0, 2 ** 36)) blocks.add(1, BASE + address);
    blocks.turn(SECOND_NS);
    const parts = blocks.split([region(2 ** 36)]);
    expect(parts.length).toBeLessThanOrEqual(513);
  });
});
