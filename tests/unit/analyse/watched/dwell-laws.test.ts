import { describe, expect, test } from "bun:test";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { rarityOver } from "../../../../src/analyse/watched/arming-density.ts";
import { lawsOf, withMany } from "../../../../src/analyse/watched/dwell-laws.ts";
import { chooseDesign, shortDwellNs } from "../../../../src/collect/ebpf/watch/design.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { MS, watch } from "../sample-input.ts";

const FACTS = {
  regionType: "weight" as const,
  elapsedNs: 1e9,
  registers: 4,
  freeRegisters: 4,
  longRegisters: 0,
  longestNs: 10e9,
  hasRowsAhead: false,
  needsPair: false,
};

/** Watches as the policy designs them, a beginning each 50 ms, with a token period at each. */
function designed(periodAt: (begin_ns: number) => number, count = 400): WatchSample[] {
  const random = seededRandom(7);
  return Array.from({ length: count }, (_, i) => {
    const begin_ns = i * 50 * MS;
    const design = chooseDesign({ ...FACTS, turn: random(), tokenPeriodNs: periodAt(begin_ns) }, random);
    if (design === null) throw new Error("no design");
    const fields = { watch_id: i, design: design.name, begin_ns, end_ns: begin_ns + design.dwellLimitNs };
    return watch([], { ...fields, dwell_limit_ns: design.dwellLimitNs });
  });
}

const lawsBy = (watches: readonly WatchSample[]): number[] => {
  const lawAt = lawsOf(watches);
  return watches.map(({ begin_ns }) => lawAt(begin_ns));
};

describe("the law by which watches were given their time", () => {
  test("is one where tokens are alike, however times are drawn", () => {
    for (const period of [4, 9, 20, 40, 400]) expect(Math.max(...lawsBy(designed(() => period * MS)))).toBe(0);
  });

  test("is one where tokens vary by a tenth", () => {
    expect(Math.max(...lawsBy(designed((now) => (10 + Math.sin(now)) * MS)))).toBe(0);
  });

  test("is another while tokens are five times as long, and the shorter one comes first", () => {
    const isSlow = (begin_ns: number): boolean => Math.floor(begin_ns / 3e9) % 2 === 1;
    const watches = designed((now) => (isSlow(now) ? 20 : 4) * MS);
    const laws = lawsBy(watches);
    const right = watches.filter(({ begin_ns }, i) => (laws[i] ?? 0) > 0 === isSlow(begin_ns));
    expect(Math.max(...laws)).toBeGreaterThan(0);
    expect(right.length / watches.length).toBeGreaterThan(0.9);
  });

  test("times of short watches of one pace are within a factor of three: what lies farther apart is of two", () => {
    const random = seededRandom(3);
    const facts = { ...FACTS, turn: 0.5, tokenPeriodNs: 10 * MS };
    const times = Array.from({ length: 1000 }, () => chooseDesign(facts, random)?.dwellLimitNs ?? 0);
    expect(Math.max(...times) / Math.min(...times)).toBeWithin(2.5, 3);
    expect(Math.max(...times) / shortDwellNs(facts.tokenPeriodNs)).toBeLessThanOrEqual(1.5);
  });

  test("no watch at all has one law", () => {
    expect(lawsOf([])(0)).toBe(0);
  });
});

test("a law of fewer than ten watches counts as its neighbour", () => {
  expect([...withMany([...new Array(20).fill(0), 1, 1, ...new Array(12).fill(3)])].at(-1)).toBe(1);
  expect(Math.max(...withMany([...new Array(20).fill(0), 1, 1]))).toBe(0);
  expect([...withMany([0, 0, 0])]).toEqual([0, 0, 0]);
  expect([...withMany([])]).toEqual([]);
});

test("watches of a pace at which fewer begin stand for the time in which it held", () => {
  const isSlow = (begin_ns: number): boolean => Math.floor(begin_ns / 3e9) % 2 === 1;
  // A quarter of those that would begin find no register free while tokens are long.
  const all = designed((now) => (isSlow(now) ? 40 : 4) * MS, 960);
  const watches = all.filter(({ begin_ns, watch_id }) => !isSlow(begin_ns) || watch_id % 4 > 0);
  const standing = (rarityAt: (begin_ns: number) => number): number => {
    const slow = watches.filter(({ begin_ns }) => isSlow(begin_ns));
    const sumOf = (some: readonly WatchSample[]): number => some.reduce((sum, one) => sum + rarityAt(one.begin_ns), 0);
    return sumOf(slow) / sumOf(watches);
  };
  expect(standing(rarityOver(watches))).toBeLessThan(0.48);
  expect(standing(rarityOver(watches, lawsOf(watches)))).toBeWithin(0.485, 0.515);
});

test("stretches in which no watch was to begin are time of no law", () => {
  const isSlow = (begin_ns: number): boolean => Math.floor(begin_ns / 12e9) % 2 === 1;
  // Of 12 s three are looked at, and a quarter of the watches begins while tokens are long.
  const passedOver = Array.from({ length: 8 }, (_, i) => [12e9 * i + 3e9, 12e9 * (i + 1)] as const);
  const watches = designed((now) => (isSlow(now) ? 40 : 4) * MS, 1920).filter(
    ({ begin_ns, watch_id }) => begin_ns % 12e9 < 3e9 && (!isSlow(begin_ns) || watch_id % 4 === 0),
  );
  const share = (rarityAt: (begin_ns: number) => number): number => {
    const sumOf = (some: readonly WatchSample[]): number => some.reduce((sum, one) => sum + rarityAt(one.begin_ns), 0);
    return sumOf(watches.filter(({ begin_ns }) => isSlow(begin_ns))) / sumOf(watches);
  };
  expect(share(rarityOver(watches, lawsOf(watches)))).toBeGreaterThan(0.6);
  expect(share(rarityOver(watches, lawsOf(watches), passedOver))).toBeWithin(0.46, 0.54);
});
