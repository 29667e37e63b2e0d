import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../../src/analyse/input/input.ts";
import type { WatchSet } from "../../../../../src/analyse/input/watch-set.ts";
import { readBytesPerSecond } from "../../../../../src/analyse/metrics/byte-rates.ts";
import { figuresOf } from "../../../../../src/analyse/metrics/registry.ts";
import { countWindows } from "../../../../../src/analyse/watched/counting/count-window.ts";
import { leastRate } from "../../../../../src/analyse/watched/rate/least-rate.ts";
import { passRate } from "../../../../../src/analyse/watched/rate/pass-rate.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

/** Each word is used every 400 ms, by so many reads 5 us apart. */
const PERIOD_NS = 400 * MS;
const PER_SECOND = 1e9 / PERIOD_NS;
const RUN_NS = 100_000 * MS;
const DWELL_NS = 100 * MS;

/** 200 watches of 100 ms, of which one in eight sees four times as many traps: what each sees of its word, up to its last trap. */
function watches(random: () => number, reads: number, dwell_limit_ns = DWELL_NS): WatchSample[] {
  return Array.from({ length: 200 }, (_, i) => {
    const begin_ns = random() * (RUN_NS - dwell_limit_ns);
    const trap_limit = i % 8 === 0 ? 32 : 8;
    const hits: [number, "load"][] = [];
    for (let t = begin_ns + random() * PERIOD_NS; t < begin_ns + dwell_limit_ns; t += PERIOD_NS)
      for (let k = 0; k < reads; k++) if (hits.length < trap_limit) hits.push([t + 5000 * k, "load"]);
    const isCut = hits.length === trap_limit;
    const end_ns = isCut ? (hits.at(-1)?.[0] ?? 0) : begin_ns + dwell_limit_ns;
    const ended_by = isCut ? "trap_limit" : "dwell";
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns, ended_by, trap_limit, dwell_limit_ns });
  });
}

function groupOf(reads: number, seed = 1, dwell_ns = DWELL_NS) {
  const [group] = groupsOf(
    input({
      window_ns: RUN_NS,
      regions: [region({ death_ns: RUN_NS })],
      watches: watches(seededRandom(seed), reads, dwell_ns),
    }),
  ).filter(({ region_type }) => region_type === "activation");
  if (group === undefined) throw new Error("no activations");
  return group;
}
const least = (set: WatchSet): number => leastRate(set, () => true);

test("is no more than the rate, and most of it, whatever ended the watches after the pass that they saw", () => {
  for (const reads of [1, 8, 40]) {
    const lows = Array.from({ length: 40 }, (_, seed) => least(groupOf(reads, seed).uniform) / PER_SECOND);
    expect(lows.filter((low) => low <= 1).length).toBeGreaterThanOrEqual(38);
    expect(lows.filter((low) => low > 0.5).length).toBe(40);
  }
});

test("is that of shorter times where usual watches see many passes", () => {
  const long = groupOf(40, 1, 20 * PERIOD_NS).uniform;
  // Each sees one in as long as it is given: that alone would be a twentieth.
  expect(least(long) / PER_SECOND).toBeGreaterThan(0.2);
  expect(least(long) / PER_SECOND).toBeLessThanOrEqual(1);
});

test("is zero where no watch saw such a pass", () => {
  expect(leastRate(groupOf(8).uniform, () => false)).toBe(0);
});

test("tells a lower bound of bytes read where every pass fills its watch", () => {
  const group = groupOf(40);
  const row = figuresOf(group, [readBytesPerSecond]).find(({ source }) => source === "watch");
  expect([row?.status, row?.value]).toEqual(["bound", null]);
  expect((row?.lo ?? 0) / (8000 * PER_SECOND)).toBeGreaterThan(0.5);
  expect((row?.lo ?? 0) / (8000 * PER_SECOND)).toBeLessThanOrEqual(1);
  expect(row?.why).toContain("ends before it has seen enough");
});

test("watches that see more traps count where a pass fills the others, so that these have windows without any", () => {
  const { uniform } = groupOf(8);
  const { time_ns } = countWindows(uniform);
  const counting = uniform.exposures.filter((_, i) => (time_ns[i] ?? 0) > 0);
  expect(counting.every(({ watch }) => watch.trap_limit === 32)).toBe(true);
  const { rate } = passRate(uniform, "read");
  expect([(rate.lo ?? 0) <= PER_SECOND, PER_SECOND <= (rate.hi ?? 0)]).toEqual([true, true]);
});
