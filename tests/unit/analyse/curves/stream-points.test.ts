import { expect, test } from "bun:test";
import { streamPoints } from "../../../../src/analyse/curves/stream-points.ts";
import { binnedQuantiles } from "../../../../src/analyse/stream/binned-quantiles.ts";
import { addTime, binnedTimes, binOf, FEW, GROUPS } from "../../../../src/analyse/stream/binned-times.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

/** Exponential times with mean 1 ms, cut at 2 ms, in random groups. */
function cutTimes(n: number) {
  const random = seededRandom(5, 0);
  const times = binnedTimes();
  for (let i = 0; i < n; i++) {
    const value = Math.round(-Math.log(1 - random()) * 1e6);
    const seen = Math.min(value, 2e6);
    addTime(times, seen, binOf(seen), 1, (random() * GROUPS) | 0, value <= 2e6);
  }
  return times;
}

test.each([
  ["kept as they are", 1000],
  ["in bins", 50_000],
])("times that are %s have their median, its interval and what was cut on the curve", (_, n) => {
  const times = cutTimes(n);
  expect(times.n > FEW).toBe(n > FEW);
  const [median] = binnedQuantiles(times, [0.5]);
  const points = streamPoints(times, false);
  expect(points.length).toBeLessThanOrEqual(100);
  const point = points.find(({ y }) => (y ?? 0) >= 0.5);
  expect((point?.x ?? 0) / (median?.value ?? 1)).toBeWithin(0.99, 1.01);
  const crossing = points.find(({ hi }) => (hi ?? 1) >= 0.5);
  expect((crossing?.x ?? 0) / (median?.lo ?? 1)).toBeWithin(0.9, 1.1);
  const cut = points.reduce((sum, { n_censored = 0 }) => sum + n_censored, 0);
  expect(cut).toBe(times.n_censored);
  expect(streamPoints(times, true).map(({ y }) => 1 - (y ?? 0))).toEqual(points.map(({ y }) => y ?? 0));
});
