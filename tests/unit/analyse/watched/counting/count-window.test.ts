import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { WatchSet } from "../../../../../src/analyse/input/watch-set.ts";
import { countWindows } from "../../../../../src/analyse/watched/counting/count-window.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

/** Watches of some lengths, in turn over a second. */
function setOf(...lengths_ms: readonly number[]): WatchSet {
  const watches = lengths_ms.map((ms, i) => {
    const begin_ns = ((37 * i) % (1000 - ms)) * MS;
    const fields = { watch_id: i, addr: BigInt(4096 + 8 * i), begin_ns, end_ns: begin_ns + ms * MS };
    return watch([[begin_ns + 5 * MS, "load"]], { ...fields, dwell_limit_ns: ms * MS });
  });
  const [group] = groupsOf(input({ watches, regions: [region()] }));
  if (group === undefined) throw new Error("no group");
  return group.uniform;
}

const shortOnes = (n: number): number[] => new Array(n).fill(50);
const longest = (set: WatchSet): number => countWindows(set).time_ns.reduce((most, time) => Math.max(most, time), 0);

test("a few watches that are far longer than all others do not hold most of the time in which passes are counted", () => {
  const { time_ns } = countWindows(setOf(...shortOnes(100), 800, 800, 800));
  const all = time_ns.reduce((sum, time) => sum + time, 0);
  expect(Math.max(...time_ns)).toBeLessThan(500 * MS);
  expect(time_ns.slice(100).reduce((sum, time) => sum + time, 0)).toBeLessThan(0.25 * all);
});

test("windows are as long as the watches where enough of these are", () => {
  expect(longest(setOf(...new Array(20).fill(400)))).toBeGreaterThan(399 * MS);
  expect(longest(setOf(...shortOnes(20), ...new Array(20).fill(400)))).toBeGreaterThan(399 * MS);
});

test("windows are as long as the watches where there are fewer than would be enough", () => {
  expect(longest(setOf(50, 50, 400))).toBeGreaterThan(399 * MS);
});

test("a word that stops its watch before this begins may be used all the time, so that its stratum has no window", () => {
  const watches = Array.from({ length: 300 }, (_, i) => {
    const begin_ns = 3 * i * MS;
    const hits = Array.from({ length: 10 }, (_, k) => [begin_ns + (10 * k + 5) * MS, "load"] as const);
    return watch(hits, { watch_id: i, begin_ns, end_ns: begin_ns + 100 * MS, trap_limit: 32 });
  });
  const stopped = watch([], { watch_id: 300, begin_ns: MS, end_ns: MS, ended_by: "trap_limit", trap_limit: 32 });
  const cutOf = (some: typeof watches): number => {
    const [group] = groupsOf(input({ watches: some, regions: [region()] }));
    return group === undefined ? Number.NaN : countWindows(group.uniform).cut;
  };
  expect(cutOf(watches)).toBe(0);
  expect(cutOf([...watches, stopped])).toBeCloseTo(1, 9);
});
