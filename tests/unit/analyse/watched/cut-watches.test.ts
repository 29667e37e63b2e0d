import { expect, test } from "bun:test";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { overWhenCut } from "../../../../src/analyse/watched/cut-watches.ts";
import { seededDraws } from "../../../../src/statistics/prng.ts";
import { MS, watch } from "../sample-input.ts";

const RUNS = 200;
const CUT = 1000 * MS;
/** A watch now and then is long; all see a word that is idle, or one that is so busy that its k-th trap comes at once. */
const SHORT = 60 * MS;
const LONG = 500 * MS;
const BUSY_NS = 2 * MS;

/** The watches that ended before the recording was cut off: half of all that were drawn were of busy words. */
function inFiles(random: () => number): WatchSample[] {
  const drawn = Array.from({ length: 400 }, (_, i) => {
    const begin_ns = (i * CUT) / 400;
    const dwell_limit_ns = random() < 0.2 ? LONG : SHORT;
    const isBusy = random() < 0.5;
    const end_ns = begin_ns + (isBusy ? BUSY_NS : dwell_limit_ns);
    return watch([], { watch_id: i + 1, begin_ns, end_ns, dwell_limit_ns, ended_by: isBusy ? "trap_limit" : "dwell" });
  });
  return drawn.filter(({ end_ns }) => end_ns <= CUT);
}

test("of the watches of a recording that was cut off, busy words are no more than were drawn", () => {
  const random = seededDraws(1);
  const busyShare = (watches: readonly WatchSample[]): number =>
    watches.filter(({ ended_by }) => ended_by === "trap_limit").length / watches.length;
  const runs = Array.from({ length: RUNS }, () => inFiles(random));
  const mean = (shares: readonly number[]): number => shares.reduce((sum, share) => sum + share, 0) / shares.length;
  // Standard error of each mean: 0.0019.
  expect(mean(runs.map(busyShare))).toBeGreaterThan(0.52);
  const whole = runs.map(overWhenCut);
  expect(Math.abs(mean(whole.map(busyShare)) - 0.5)).toBeLessThan(0.01);
  for (const watches of whole) expect(watches.length).toBeGreaterThan(250);
});

test("all watches of a word that was named are kept", () => {
  const named = watch([], { stratum: "named/1", begin_ns: 90 * MS, dwell_limit_ns: LONG, end_ns: 95 * MS });
  expect(overWhenCut([watch([]), named])).toEqual([watch([]), named]);
});

test("a recording without watches has none", () => {
  expect(overWhenCut([])).toEqual([]);
});
