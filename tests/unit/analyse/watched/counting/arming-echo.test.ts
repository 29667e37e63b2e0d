import { expect, test } from "bun:test";
import { groupsOf } from "../../../../../src/analyse/input/group.ts";
import type { WatchSample } from "../../../../../src/analyse/input/input.ts";
import { computeMetrics } from "../../../../../src/analyse/metrics/registry.ts";
import {
  armingEcho,
  sinceArmingWithEcho,
  timesWithEcho,
  withEcho,
} from "../../../../../src/analyse/watched/counting/arming-echo.ts";
import type { Interval } from "../../../../../src/statistics/interval.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";
import { input, MS, region, watch } from "../../sample-input.ts";

const RUN_NS = 9100 * MS;
const WINDOW_NS = 20 * MS;
const PERIOD_NS = 5 * MS;

/** 300 watches of words that are read every 5 ms; of the reads in a window, by their time after the arming, some come at another time or not at all. */
function watchesOf(armedAt: (i: number) => number, moved: (after_ns: number) => number | null): WatchSample[] {
  const random = seededRandom(3);
  return Array.from({ length: 300 }, (_, i) => {
    const begin_ns = armedAt(i);
    const first = PERIOD_NS * random();
    const hits = Array.from({ length: 4 }, (_, k) => moved(first + k * PERIOD_NS)).flatMap((after) =>
      after === null || after >= WINDOW_NS ? [] : [[begin_ns + after, "load"] as const],
    );
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns: begin_ns + WINDOW_NS, dwell_limit_ns: WINDOW_NS });
  });
}

const spread = (i: number): number => 30 * MS * (i + 1);
const seen = (watches: WatchSample[]) =>
  input({ window_ns: RUN_NS, watches, regions: [region({ death_ns: RUN_NS })], trap_cost_ns: 16_000 });

function echoOf(watches: WatchSample[]): number {
  const set = groupsOf(seen(watches)).find(({ uniform }) => uniform.exposures.length > 0)?.uniform;
  return set === undefined ? Number.NaN : armingEcho(set).share;
}

/** What chance shows between two and four standard errors counts in part. */
const NEXT_TO_NOTHING = 0.002;

test("a program that does not know of the watches has next to no echo", () => {
  expect(Math.abs(echoOf(watchesOf(spread, (after) => after)))).toBeLessThan(NEXT_TO_NOTHING);
});

test("a program that stands still after each arming has fewer passes there: what the windows lack is told", () => {
  // Nothing in the first 4 of 20 ms, and later as much as ever.
  const echo = echoOf(watchesOf(spread, (after) => (after < 4 * MS ? null : after)));
  expect(echo).toBeWithin(0.2, 0.3);
});

test("it is heard at whatever moment the watches were armed, however sums of such times are rounded", () => {
  const moments = Array.from({ length: 20 }, (_, k) => k / 20);
  const still = (after: number): number | null => (after < 4 * MS ? null : after);
  for (const moment of moments) expect(echoOf(watchesOf((i) => spread(i) + moment, still))).toBeWithin(0.2, 0.3);
});

test("a first part in which nobody saw a pass is chance where few were to be seen", () => {
  // Each watch has one pass, anywhere but in the first hundredth of its window: of 300 three are missing.
  const random = seededRandom(4);
  const watches = watchesOf(spread, () => null).map((one) => {
    const time = one.begin_ns + (0.01 + 0.99 * random()) * WINDOW_NS;
    return watch([[time, "load"]], { ...one, hit_ns: Float64Array.of(time) });
  });
  expect(Math.abs(echoOf(watches))).toBeLessThan(NEXT_TO_NOTHING);
});

test.each([
  ["when it comes", 0],
  ["before it goes", 55],
])("what is done to memory %s is no echo", (_, after_ms) => {
  const random = seededRandom(5);
  const watches = Array.from({ length: 300 }, (_, i) => {
    const [born, freed] = [30 * MS * i + MS, 30 * MS * i + 61 * MS];
    const begin_ns = born + 40 * MS * random();
    const steady = Array.from({ length: 12 }, (_, k) => born + (k + random()) * PERIOD_NS);
    const burst = Array.from({ length: 20 }, (_, k) => born + (after_ms + 0.25 * k) * MS);
    const hits = [...burst, ...steady]
      .filter((time) => time > begin_ns && time < begin_ns + WINDOW_NS)
      .sort((a, b) => a - b)
      .map((time) => [time, "load"] as const);
    const life = { region_birth_ns: born, region_death_ns: freed };
    return watch(hits, { watch_id: i + 1, begin_ns, end_ns: begin_ns + WINDOW_NS, dwell_limit_ns: WINDOW_NS, ...life });
  });
  expect(echoOf(watches)).toBe(0);
});

test("an echo grows with what is seen of it, without a step", () => {
  const echoes = [0, 0.5, 1, 1.5, 2, 2.5, 3].map((still) =>
    echoOf(watchesOf(spread, (after) => (after < still * MS ? null : after))),
  );
  for (const [i, echo] of echoes.entries()) expect(echo).toBeGreaterThanOrEqual((echoes[i - 1] ?? 0) - NEXT_TO_NOTHING);
  expect(echoes.some((echo) => echo > 0.01 && echo < 0.05)).toBe(true);
});

test("what waited for an arming comes right after it: too much is below 0", () => {
  const late = echoOf(watchesOf(spread, (after) => (after > 15 * MS ? after - 14.9 * MS : after)));
  expect(late).toBeWithin(-0.4, -0.2);
});

test("watches that were armed at one moment see the same, and count as one", () => {
  expect(
    echoOf(
      watchesOf(
        () => 40 * MS,
        (after) => (after < 4 * MS ? null : after),
      ),
    ),
  ).toBe(0);
});

test("with a loud echo rates and times between passes are bounds, which say why", () => {
  const rows = computeMetrics(seen(watchesOf(spread, (after) => (after < 8 * MS ? null : after))));
  const named = (name: string) => rows.find(({ metric, source }) => metric === name && source === "watch");
  expect(named("read_bytes_per_s")).toMatchObject({ status: "bound", value: null, hi: null });
  expect(named("read_bytes_per_s")?.why).toContain("watching holds the program up");
  expect(named("iai_p50_ns")).toMatchObject({ status: "bound", value: null, hi: null });
  expect(named("iai_p50_ns")?.lo ?? 0).toBeGreaterThan(0);
  // From a random moment it is 2.5 ms to the next read, and 10.5 from an arming.
  expect(named("next_use_p50_ns")).toMatchObject({ status: "bound", value: null });
  expect(named("next_use_p50_ns")?.lo ?? 0).toBeLessThan(2.5 * MS);
});

/** Watches of words that are read eight times together every 4 ms, so that one burst ends a watch, of a program that stands still for up to so long after an arming. */
function burstsAfter(still_ns: number, over: Partial<WatchSample> = {}): WatchSample[] {
  const random = seededRandom(6);
  return Array.from({ length: 300 }, (_, i) => {
    const begin_ns = spread(i);
    const [moment, still] = [4 * MS * random(), still_ns * random()];
    const reads = Array.from({ length: 16 }, (_, k) => (k < 8 ? 0 : 4 * MS) + 0.06 * MS * (k % 8) - moment);
    const ahead = reads.filter((after) => after > 0).slice(0, 8);
    const hits = ahead.map((after) => [begin_ns + still + after, "load"] as const);
    const end_ns = hits.at(-1)?.[0] ?? begin_ns;
    return watch(hits, {
      watch_id: i + 1,
      begin_ns,
      end_ns,
      ended_by: "trap_limit",
      dwell_limit_ns: WINDOW_NS,
      ...over,
    });
  });
}

test("windows that end before a program goes on are heard by what comes first behind them", () => {
  expect(echoOf(burstsAfter(0))).toBe(0);
  expect(echoOf(burstsAfter(3 * MS))).toBeGreaterThan(0.5);
});

test("a sum that few of such windows tell has no upper end", () => {
  const rows = computeMetrics(seen(burstsAfter(3 * MS)));
  const row = rows.find(({ metric, source }) => metric === "read_bytes_per_s" && source === "watch");
  expect(row).toMatchObject({ status: "bound", value: null, hi: null });
  // It is 16 MB each second, and as much less as the program stands still.
  expect(row?.lo ?? 0).toBeWithin(4e5, 10e6);
});

test("an echo is heard beside a few bytes that are used so often that no window holds them", () => {
  const still = watchesOf(spread, (after) => (after < 8 * MS ? null : after));
  const busy = burstsAfter(0, { stratum: "busy", stratum_bytes: 8, inclusion_probability: 1 })
    .slice(0, 50)
    .map((one, i) => {
      const hit_ns = Float64Array.from({ length: 8 }, (_, k) => one.begin_ns + (0.06 + 0.02 * k) * MS);
      return { ...one, watch_id: 1000 + i, hit_ns, end_ns: hit_ns[7] ?? 0 };
    });
  const rows = computeMetrics(seen([...still, ...busy]));
  const row = rows.find(({ metric, source }) => metric === "read_bytes_per_s" && source === "watch");
  expect(row).toMatchObject({ status: "bound", value: null, hi: null });
});

test("an interval has room for an echo on the side on which the truth may lie", () => {
  const estimate: Interval = { value: 100, lo: 90, hi: 110 };
  expect(withEcho(estimate, 0)).toEqual(estimate);
  expect(withEcho(estimate, 0.1)).toEqual({ value: 100, lo: 81, hi: 132 });
  expect(withEcho(estimate, -0.1)).toEqual({ value: 100, lo: 72, hi: expect.closeTo(121) });
  expect(timesWithEcho(estimate, 0.1)).toEqual({ value: 100, lo: 90, hi: 132 });
  expect(timesWithEcho(estimate, 0.5)).toEqual({ value: null, lo: 90, hi: null });
  expect(sinceArmingWithEcho(estimate, { share: 0.1, still_ns: 10 })).toEqual({ value: 100, lo: 70, hi: 110 });
  expect(sinceArmingWithEcho(estimate, { share: 0.5, still_ns: 60 })).toEqual({ value: null, lo: 0, hi: 110 });
  expect(sinceArmingWithEcho(estimate, { share: -0.1, still_ns: -10 })).toEqual({ value: 100, lo: 90, hi: 130 });
  expect(sinceArmingWithEcho(estimate, { share: -0.5, still_ns: -60 })).toEqual({ value: null, lo: 90, hi: null });
  expect(timesWithEcho(estimate, -0.5)).toEqual({ value: null, lo: null, hi: null });
});
