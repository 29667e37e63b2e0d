import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../../src/analyse/input/input.ts";
import type { WatchSet } from "../../../../../src/analyse/input/watch-set.ts";
import { armingHolds, armingStill, armingsOf } from "../../../../../src/analyse/watched/counting/arming-holds.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

const RUN_NS = 9100 * MS;
const WINDOW_NS = 70 * MS;
const WATCHES = 300;

/** Watches armed at any moment of a program that goes in steps of 9 to 11 ms, reads each word in each, and stands still for so long at an arming. */
function watchesOf(stillNs: number): WatchSample[] {
  const random = seededRandom(5);
  const armed = Array.from({ length: WATCHES }, () => (RUN_NS - WINDOW_NS) * random()).sort((a, b) => a - b);
  const steps: number[] = [];
  let next = 0;
  for (let begin = 0; begin < RUN_NS; ) {
    steps.push(begin);
    begin += (9 + 2 * random()) * MS;
    for (; (armed[next] ?? Number.POSITIVE_INFINITY) < begin; next++) begin += stillNs;
  }
  return armed.map((begin_ns, i) => {
    const hits = steps.filter((time) => time > begin_ns && time < begin_ns + WINDOW_NS);
    const loads = hits.map((time) => [time, "load"] as const);
    return watch(loads, { watch_id: i + 1, begin_ns, end_ns: begin_ns + WINDOW_NS, dwell_limit_ns: WINDOW_NS });
  });
}

function setOf(watches: WatchSample[]): WatchSet {
  const given = { window_ns: RUN_NS, watches, regions: [region({ death_ns: RUN_NS })], trap_cost_ns: 16_000 };
  const set = groupsOf(input(given)).find(({ uniform }) => uniform.exposures.length > 0)?.uniform;
  if (set === undefined) throw new Error("no watch");
  return set;
}

/** How many armings a time from one pass to the next lacks, where others were armed too. */
function lackingIn(watches: WatchSample[], elsewhere: WatchSample[]): number {
  const set = { ...setOf(watches), armingsIn: armingsOf([...watches, ...elsewhere]) };
  const times = set.exposures.flatMap(({ passes: { start_ns, count } }) =>
    Array.from({ length: Math.max(0, count - 1) }, (_, p) => ({
      from: start_ns[p] ?? 0,
      end: start_ns[p + 1] ?? 0,
      weight: 1,
    })),
  );
  return armingHolds(set, () => times)?.lacking ?? 0;
}

test("times between passes tell how long a program stands still when another watch is armed in them", () => {
  // With twice its error.
  expect(armingStill(setOf(watchesOf(2 * MS)))).toBeWithin(2 * MS, 2.5 * MS);
});

test("of a program that does not know of the watches nothing is told, though a longer time has more armings in it", () => {
  expect(armingStill(setOf(watchesOf(0)))).toBe(0);
});

test("times that are seen lack armings where these come less often behind one than elsewhere", () => {
  const watches = watchesOf(2 * MS);
  // As many more that no window of these holds.
  const between = watches.flatMap((one, i): WatchSample[] => {
    const before = watches[i - 1]?.end_ns ?? 0;
    const gap = one.begin_ns - before;
    if (gap <= 0) return [];
    return Array.from({ length: 20 }, (_, k) => ({ ...one, begin_ns: before + (gap * k) / 20 }));
  });
  expect(between.length).toBeGreaterThan(100);
  expect(lackingIn(watches, [])).toBeLessThan(0.05);
  expect(lackingIn(watches, between)).toBeGreaterThan(0.05);
});
