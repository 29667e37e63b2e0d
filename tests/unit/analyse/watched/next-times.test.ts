import { describe, expect, test } from "bun:test";
import { type Group, groupsOf } from "../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import type { WatchSet } from "../../../../src/analyse/input/watch-set.ts";
import type { MetricFamily } from "../../../../src/analyse/metrics/metric.ts";
import { nextUse, stillNeeded } from "../../../../src/analyse/metrics/next-times.ts";
import { touchedWithin } from "../../../../src/analyse/metrics/working-set.ts";
import { nextTimes, untilLastNeed, untilNextUse } from "../../../../src/analyse/watched/next-times.ts";
import type { OP } from "../../../../src/schema/operation.ts";
import { input, MS, region, watch } from "../sample-input.ts";

type Hits = readonly (readonly [ms: number, op: keyof typeof OP])[];

/** A watch that was armed at 10 ms and given 20, unless told; `hits` are after its arming. */
function watchOf(hits: Hits, fields: Partial<WatchSample> = {}): WatchSample {
  const begin_ns = fields.begin_ns ?? 10 * MS;
  return watch(
    hits.map(([ms, op]) => [begin_ns + ms * MS, op]),
    { begin_ns, end_ns: begin_ns + 20 * MS, dwell_limit_ns: 20 * MS, ended_by: "dwell", trap_limit: 8, ...fields },
  );
}

function groupOf(...watches: WatchSample[]): Group {
  const numbered = watches.map((one, watch_id) => ({ ...one, watch_id }));
  const [group] = groupsOf(input({ watches: numbered, regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  return group;
}

const setOf = (...watches: WatchSample[]): WatchSet => groupOf(...watches).uniform;

const [GAP_MS, RUN_END] = [0.05, groupsOf(input({ watches: [], regions: [region()] }))[0]?.span.end_ns.at(-1) ?? 0];

describe("the time until a byte is used again", () => {
  const timeOf = (one: WatchSample) => nextTimes(setOf(one), untilNextUse).cases[0];

  test("goes on to the first pass that is seen to begin", () => {
    expect(timeOf(watchOf([[5, "load"]]))).toMatchObject({ isWhole: true, value: (5 - GAP_MS) * MS });
    // What goes on when the watch is armed may have begun before.
    const begun = watchOf([
      [0.03, "load"],
      [0.06, "load"],
      [5, "store"],
    ]);
    expect(timeOf(begun)).toMatchObject({ isWhole: true, value: (5 - GAP_MS) * MS });
  });

  test("is at least as long as the watch, where no pass came", () => {
    expect(timeOf(watchOf([]))).toMatchObject({ isWhole: false, seen: (20 - GAP_MS) * MS, value: (20 - GAP_MS) * MS });
  });

  test("is longer than the watch was given, where none came up to the end of the run or to the free", () => {
    const last = watchOf([], { begin_ns: RUN_END - 5 * MS, end_ns: RUN_END });
    expect(timeOf(last)).toMatchObject({ isWhole: false, seen: (20 - GAP_MS) * MS, value: (5 - GAP_MS) * MS });
    const freed = watchOf([], { end_ns: 18 * MS, ended_by: "unmap" });
    expect(timeOf(freed)).toMatchObject({ isWhole: false, seen: (20 - GAP_MS) * MS, value: (8 - GAP_MS) * MS });
    // What was moved may be used a moment later, at its other address.
    const moved = watchOf([], { end_ns: 18 * MS, ended_by: "unmap", region_death_ns: 18 * MS, is_moved: true });
    expect(timeOf(moved)).toMatchObject({ isWhole: false, seen: (8 - GAP_MS) * MS, value: (8 - GAP_MS) * MS });
  });
});

describe("the time for which what a byte holds is needed", () => {
  const timeOf = (one: WatchSample) => nextTimes(setOf(one), untilLastNeed).cases[0];

  test("goes on to the last read before the next write", () => {
    const read = watchOf([
      [2, "load"],
      [6, "load"],
      [9, "store"],
      [12, "load"],
    ]);
    expect(timeOf(read)).toMatchObject({ isWhole: true, seen: 9 * MS, value: 6 * MS });
  });

  test("is nothing where a write comes first, and reaches an instruction that reads what it replaces", () => {
    expect(timeOf(watchOf([[9, "store"]]))).toMatchObject({ isWhole: true, value: 0 });
    expect(timeOf(watchOf([[9, "load_store"]]))).toMatchObject({ isWhole: true, value: 9 * MS });
  });

  test("is at least what was seen where neither a write nor the free came", () => {
    expect(timeOf(watchOf([[6, "load"]]))).toMatchObject({ isWhole: false, seen: 20 * MS, value: 6 * MS });
  });

  test("is longer than the watch was given, where the run ended before a write", () => {
    const last = watchOf([[3, "load"]], { begin_ns: RUN_END - 5 * MS, end_ns: RUN_END });
    expect(timeOf(last)).toMatchObject({ isWhole: false, seen: 20 * MS, value: 3 * MS });
  });

  test("ends with the free of the bytes", () => {
    const freed = watchOf([[6, "load"]], { end_ns: 18 * MS, ended_by: "unmap" });
    expect(timeOf(freed)).toMatchObject({ isWhole: true, seen: 8 * MS, value: 6 * MS });
  });

  test("is told by the watches with many traps where the others are cut, if they are enough", () => {
    const reads = Array.from({ length: 8 }, (_, i) => [i + 1, "load"] as const);
    const cut = watchOf(reads, { end_ns: 18 * MS, ended_by: "trap_limit" });
    const deep = watchOf([...reads, [15, "store"]], { trap_limit: 32 });
    const timesOf = (count: number) => nextTimes(setOf(cut, cut, ...Array(count).fill(deep)), untilLastNeed);
    expect(timesOf(30)).toMatchObject({ cut: 0, cases: Array(30).fill({ isWhole: true, value: 8 * MS }) });
    // What the others saw is a bound at least.
    expect(timesOf(2).cases).toHaveLength(4);
    expect(timesOf(2).cut).toBeCloseTo(0.5);
  });
});

test("a watch that was armed before the span tells of no moment picked at random", () => {
  const early = watchOf([[5, "load"]]);
  const set = setOf(early, early);
  const exposures = set.exposures.map((one, i) => (i === 0 ? { ...one, begin_ns: one.armed_ns + MS } : one));
  expect(nextTimes({ ...set, exposures }, untilNextUse).cases.map(({ unit }) => unit)).toEqual([1]);
});

describe("moments of which no watch tells", () => {
  // Four of five words are read at any time of the watch, and written after that; the fifth is not used.
  const watches = Array.from({ length: 400 }, (_, i) => {
    const begin_ns = ((i + 0.5) / 400) * (RUN_END - 25 * MS);
    const read = 0.1 + 19 * ((i * 0.618) % 1);
    const hits: Hits = [
      [read, "load"],
      [read + 0.5, "store"],
    ];
    return watchOf(i % 5 > 0 ? hits : [], { begin_ns, end_ns: begin_ns + 20 * MS, addr: BigInt(4096 + 8 * i) });
  });
  const group = groupOf(...watches);
  const ofMetric = (family: MetricFamily) => (of: Group) => family.figures(of, [])[0]?.estimate;
  for (const [name, endsOf] of [
    ["the time to the next use", ofMetric(nextUse)],
    ["the time for which a byte is needed", ofMetric(stillNeeded)],
    ["the working set", (of: Group) => touchedWithin(of, 10 * MS).estimate],
  ] as const) {
    test(`are in the interval of ${name}, whatever they would have told`, () => {
      const usual = endsOf(group);
      expect(usual?.lo ?? usual?.hi ?? 0).toBeGreaterThan(0);
      for (const untold of [{ unwatched: 0.019 }, { young: 0.019 }, { lost: 0.009 }]) {
        const wide = endsOf({ ...group, uniform: { ...group.uniform, ...untold } });
        if (usual?.lo) expect(wide?.lo ?? 0).toBeLessThan(usual.lo);
        if (usual?.hi) expect(wide?.hi ?? Number.POSITIVE_INFINITY).toBeGreaterThan(usual.hi);
      }
    });
  }
});
