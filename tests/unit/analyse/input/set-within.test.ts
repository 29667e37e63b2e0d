import { expect, test } from "bun:test";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { spanOf } from "../../../../src/analyse/input/span.ts";
import { setWithin } from "../../../../src/analyse/input/watch-set.ts";
import { armingEcho, isLoud } from "../../../../src/analyse/watched/counting/arming-echo.ts";
import { partedPasses } from "../../../../src/analyse/watched/parted-passes.ts";
import type { LedgerRow } from "../../../../src/schema/ledger.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../sample-input.ts";

/** By turns of half a second watches are given some 32 ms each 10 ms, and some 240 each 25 ms. */
const isSlow = (begin_ns: number): boolean => Math.floor(begin_ns / (500 * MS)) % 2 === 1;

function watches(end_ns: number): WatchSample[] {
  const out: WatchSample[] = [];
  for (let begin_ns = 0; begin_ns < end_ns; begin_ns += (isSlow(begin_ns) ? 25 : 10) * MS) {
    const dwell_limit_ns = (isSlow(begin_ns) ? 240 : 32) * MS * (0.6 + 0.1 * (out.length % 9));
    const ends = { end_ns: begin_ns + dwell_limit_ns, dwell_limit_ns };
    out.push(watch([], { watch_id: out.length, begin_ns, ...ends }));
  }
  return out;
}

test("watches of a part of a run stand for the time in which theirs were so long, as those of all of it", () => {
  const window_ns = 8000 * MS;
  const regions = [region({ death_ns: window_ns })];
  const [group] = groupsOf(input({ window_ns, regions, watches: watches(window_ns) }));
  if (group === undefined) throw new Error("no group");
  const part = setWithin(group.uniform, spanOf("all", "all", [[2000 * MS, 4000 * MS]]), 1, 1);
  for (const { exposures, weights } of [group.uniform, part]) {
    const begun = [...exposures.keys()].filter((i) => (exposures[i]?.armed_ns ?? 0) >= (exposures[i]?.begin_ns ?? 0));
    const sumOf = (some: readonly number[]): number => some.reduce((sum, i) => sum + (weights.bytes[i] ?? 0), 0);
    const slow = begun.filter((i) => isSlow(exposures[i]?.armed_ns ?? 0));
    expect(sumOf(slow) / sumOf(begun)).toBeWithin(0.42, 0.58);
  }
});

/** The watches of a part of a run beside all of them. */
function inPart(watches: WatchSample[], window_ns: number, part: [number, number]) {
  const [group] = groupsOf(
    input({ window_ns, regions: [region({ death_ns: window_ns })], watches, trap_cost_ns: 9000 }),
  );
  if (group === undefined) throw new Error("no group");
  return { whole: group.uniform, part: setWithin(group.uniform, spanOf("all", "all", [part]), 1, 1) };
}

test("watches of a part of a run hear the echo of armings that all of them hear", () => {
  const random = seededRandom(3);
  // Words that are read every 20 ms, of a program that does nothing in the first 4 ms after an arming.
  const watches = Array.from({ length: 300 }, (_, i) => {
    const [begin_ns, after] = [30 * MS * i, 20 * MS * random()];
    const ends = { begin_ns, end_ns: begin_ns + 20 * MS, dwell_limit_ns: 20 * MS };
    return watch(after < 4 * MS ? [] : [[begin_ns + after, "load"]], { watch_id: i + 1, ...ends });
  });
  const { whole, part } = inPart(watches, 9000 * MS, [3000 * MS, 4200 * MS]);
  expect(part.exposures.length).toBeLessThan(50);
  expect(isLoud(armingEcho(whole).share)).toBe(true);
  expect(isLoud(armingEcho(part).share)).toBe(true);
});

test("in a part of a run as many passes may be parted by traps as in all of it", () => {
  // In the second half each word is read once in 10 ms, before that twice, so near that both may be one pass.
  const watches = Array.from({ length: 200 }, (_, i) => {
    const begin_ns = 10 * MS * i;
    const reads = i < 100 ? [5, 5.05] : [5];
    const hits = reads.map((ms) => [begin_ns + ms * MS, "load"] as const);
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns: begin_ns + 10 * MS });
  });
  const { whole, part } = inPart(watches, 2000 * MS, [1200 * MS, 1800 * MS]);
  expect(partedPasses(whole).read).toBeWithin(0.3, 0.4);
  expect(partedPasses(part).read).toBe(partedPasses(whole).read);
});

test("a part of a run lacks the time in which nothing was looked at, and another part does not", () => {
  const watches = Array.from({ length: 200 }, (_, i) => {
    const begin_ns = (10 * i + (i < 120 ? 0 : 300)) * MS;
    return watch([], { watch_id: i + 1, begin_ns, end_ns: begin_ns + 10 * MS });
  });
  const window_ns = 2300 * MS;
  expect(inPart(watches, window_ns, [1000 * MS, 2000 * MS]).part.unwatched).toBeWithin(0.25, 0.35);
  expect(inPart(watches, window_ns, [100 * MS, 1000 * MS]).part.unwatched).toBe(0);
});

test("memory that came in a part of a run is young for as much of that part", () => {
  const window_ns = 2000 * MS;
  const watches = Array.from({ length: 200 }, (_, i) =>
    watch([], { watch_id: i + 1, begin_ns: 10 * MS * i, end_ns: 10 * MS * (i + 1) }),
  );
  const regions = [region({ birth_ns: 1000 * MS, death_ns: window_ns })];
  const [group] = groupsOf(input({ window_ns, regions, watches, draw_lag_ns: 20 * MS }));
  if (group === undefined) throw new Error("no group");
  const young = (from: number, end: number): number =>
    setWithin(group.uniform, spanOf("all", "all", [[from * MS, end * MS]]), 1, 1).young;
  expect(young(1000, 1100)).toBeCloseTo(0.2, 3);
  expect(young(1000, 1100)).toBeGreaterThan(young(1500, 1600));
});

test("of watches that were lost in a part of a run as many are missing there", () => {
  const window_ns = 2000 * MS;
  const watches = Array.from({ length: 200 }, (_, i) =>
    watch([], { watch_id: i + 1, begin_ns: 10 * MS * i, end_ns: 10 * MS * (i + 1) }),
  ).filter(({ watch_id }) => watch_id <= 110 || watch_id > 120);
  const ledger: LedgerRow[] = [
    {
      ...{ stream: "access", source: "watch", stage: "ring", way: null, pid: null },
      ...{ seen: 1000, kept: 995, filtered: 0, dropped: 5, dropped_by: { ring_full: 5 }, unseen_estimate: null },
    },
  ];
  const [group] = groupsOf(input({ window_ns, regions: [region({ death_ns: window_ns })], watches, ledger }));
  if (group === undefined) throw new Error("no group");
  const lost = (from: number, end: number): number =>
    setWithin(group.uniform, spanOf("all", "all", [[from * MS, end * MS]]), 1, 1).lost;
  expect(lost(0, 1000)).toBe(group.uniform.lost);
  expect(lost(1000, 1500)).toBeCloseTo(0.2, 2);
});
