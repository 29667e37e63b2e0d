import { describe, expect, test } from "bun:test";
import { binnedQuantiles } from "../../../../src/analyse/stream/binned-quantiles.ts";
import { addTime, binnedTimes, binOf, FEW, foldGroups, GROUPS } from "../../../../src/analyse/stream/binned-times.ts";
import { streamRatio, streamShare } from "../../../../src/analyse/stream/stream-figures.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

/** Exponential times with mean 1 ms, some cut at 2 ms, in random groups. */
function exponential(n: number, seed: number, cut = Number.POSITIVE_INFINITY) {
  const random = seededRandom(seed, 0);
  const times = binnedTimes();
  for (let i = 0; i < n; i++) {
    const value = Math.round(-Math.log(1 - random()) * 1e6);
    const seen = Math.min(value, cut);
    addTime(times, seen, binOf(seen), 1, (random() * GROUPS) | 0, value <= cut);
  }
  return times;
}

describe("binned times", () => {
  test("are exact while they are few, and interpolate as numpy does", () => {
    const times = binnedTimes();
    for (const [i, value] of [3, 1, 4, 1, 5].entries()) addTime(times, value, binOf(value), 1, i, true);
    expect(binnedQuantiles(times, [0.5, 0.9]).map(({ value }) => value)).toEqual([3, 4.6]);
  });

  test("are within half a percent when they are many", () => {
    const times = exponential(200_000, 1);
    const [median, late] = binnedQuantiles(times, [0.5, 0.99]);
    expect(Math.abs((median?.value ?? 0) / (1e6 * Math.LN2) - 1)).toBeLessThan(0.01);
    expect(Math.abs((late?.value ?? 0) / (1e6 * Math.log(100)) - 1)).toBeLessThan(0.02);
    expect(times.n).toBeGreaterThan(FEW);
  });

  test("are a product-limit curve: what is cut at 2 ms bends neither the median nor what lies below", () => {
    const [median, late] = binnedQuantiles(exponential(50_000, 2, 2e6), [0.5, 0.95]);
    expect(Math.abs((median?.value ?? 0) / (1e6 * Math.LN2) - 1)).toBeLessThan(0.03);
    expect(late).toMatchObject({ value: null, hi: null });
    expect(late?.lo ?? 0).toBeGreaterThan(1.9e6);
  });

  test("have intervals that hold the truth as often as they say", () => {
    const truth = 1e6 * Math.LN2;
    for (const n of [1000, 20_000]) {
      let covered = 0;
      for (let run = 0; run < 100; run++) {
        const [median] = binnedQuantiles(exponential(n, 100 + run), [0.5]);
        if ((median?.lo ?? 0) <= truth && truth <= (median?.hi ?? 0)) covered += 1;
      }
      // 95 % intervals of 100 runs cover fewer than 89 with probability 0.4 %.
      expect(covered).toBeGreaterThanOrEqual(89);
    }
  });

  test("keep every observation when groups are folded", () => {
    const times = exponential(5000, 3);
    const before = times.group_event.reduce((a, b) => a + b, 0);
    foldGroups(times);
    expect(times.group_event.reduce((a, b) => a + b, 0)).toBe(before);
    for (let at = GROUPS / 2; at < GROUPS; at++) expect(times.group_event[at]).toBe(0);
  });

  test("say nothing of nothing, and no interval of too few groups", () => {
    expect(binnedQuantiles(binnedTimes(), [0.5])).toEqual([{ value: null, lo: null, hi: null }]);
    const times = binnedTimes();
    for (let i = 0; i < 100; i++) addTime(times, i, binOf(i), 1, 3, true);
    expect(binnedQuantiles(times, [0.5])).toEqual([{ value: 49.5, lo: null, hi: null }]);
  });
});

describe("the ratio of sums by group", () => {
  test("varies with groups that have something above and nothing below", () => {
    const bottom = Float64Array.from({ length: GROUPS }, (_, g) => (g < 10 ? 10 : 0));
    const top = bottom.map((n, g) => (g === GROUPS - 1 ? 1000 : n));
    const { value, hi } = streamRatio(top, bottom);
    expect(value).toBe(11);
    expect(hi ?? 0).toBeGreaterThan(20);
  });

  test("has an interval that holds the truth as often as it says, and ends at 1 for a share", () => {
    let covered = 0;
    for (let run = 0; run < 100; run++) {
      const random = seededRandom(run, 1);
      const bottom = Float64Array.from({ length: GROUPS }, () => 50 + ((random() * 50) | 0));
      const top = bottom.map((n) => Array.from({ length: n }, () => (random() < 0.3 ? 1 : 0)).filter(Boolean).length);
      const { lo, hi } = streamRatio(top, bottom);
      if ((lo ?? 1) <= 0.3 && 0.3 <= (hi ?? 0)) covered += 1;
    }
    expect(covered).toBeGreaterThanOrEqual(89);
    const nearly = Float64Array.from({ length: GROUPS }, (_, i) => (i === 0 ? 0 : 1));
    expect(streamShare(nearly, new Float64Array(GROUPS).fill(1)).hi).toBe(1);
    expect(streamRatio(new Float64Array(4), new Float64Array(4)).value).toBeNull();
  });
});
