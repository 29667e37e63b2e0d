import { expect, test } from "bun:test";
import { pointsByEnds, samplePoints } from "../../../../src/analyse/curves/share-points.ts";
import { resample } from "../../../../src/statistics/bootstrap.ts";
import { quantilesByEnds, sharesByEnds, type TimedCase } from "../../../../src/statistics/inverse-censoring.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";
import { boundedQuantiles, pooledSample } from "../../../../src/statistics/survival/recurrent-survival.ts";

const UNITS = 200;
const RESAMPLES = resample(new Uint8Array(UNITS), 1, 0, 199);
const ONE_EACH = new Float64Array(UNITS).fill(1);
/** A fifth of what was seen was not drawn, and may be of any time. */
const UNDRAWN = 0.2;

/** The x from which on, and that up to which, half may lie. */
function crossings(points: ReturnType<typeof samplePoints>): [number | undefined, number | undefined] {
  return [points.find(({ hi }) => (hi ?? 1) >= 0.5)?.x, points.find(({ lo }) => (lo ?? 0) >= 0.5)?.x];
}

test("a band has the room that the quantiles have for what was not drawn", () => {
  const random = seededRandom(5);
  const sample = pooledSample(
    Array.from({ length: UNITS }, () => ({ complete: [-Math.log(1 - random())], censored: [] })),
    ONE_EACH,
  );
  const [median] = boundedQuantiles(sample, [0.5], RESAMPLES, UNDRAWN);
  const [from, end] = crossings(samplePoints(sample, RESAMPLES, false, UNDRAWN));
  expect((from ?? 0) / (median?.lo ?? 0)).toBeWithin(0.85, 1.15);
  expect((end ?? 0) / (median?.hi ?? 0)).toBeWithin(0.85, 1.15);
});

test("so has the band of values that are known when something else ends", () => {
  const random = seededRandom(6);
  const cases = Array.from({ length: UNITS }, (_, unit): TimedCase => {
    const value = -Math.log(1 - random());
    return { unit, weight: 1, seen: 2 * value, isWhole: true, value };
  });
  const [median] = quantilesByEnds(cases, [0.5], RESAMPLES, UNDRAWN);
  const observations = { time: Float64Array.from(cases, ({ value }) => value).sort(), cut: new Float64Array(0) };
  const points = pointsByEnds(sharesByEnds(cases), observations, RESAMPLES, UNITS, false, UNDRAWN);
  const [from, end] = crossings(points);
  expect((from ?? 0) / (median?.lo ?? 0)).toBeWithin(0.85, 1.15);
  expect((end ?? 0) / (median?.hi ?? 0)).toBeWithin(0.85, 1.15);
});

test("a curve ends where too few of one law were looked at, and does not go on level to what others saw", () => {
  // Of each half all times lie between 1 and 101; the first half was looked at for 2.
  const units = Array.from({ length: UNITS }, (_, i) => {
    const time = 1 + Math.floor(i / 2);
    return i % 2 === 0 && time > 2 ? { complete: [], censored: [2 + i / 1e4] } : { complete: [time], censored: [] };
  });
  const sample = pooledSample(
    units,
    ONE_EACH,
    Uint32Array.from(units, (_, i) => i % 2),
  );
  const last = samplePoints(sample, RESAMPLES, false, 0).at(-1);
  expect(last?.y).toBeCloseTo(0.02, 9);
  // At 100 all of them have ended: nothing of the curve says so.
  expect(last?.x).toBeLessThan(3);
});

test("a curve goes on level for as long as enough were looked at", () => {
  const units = Array.from({ length: UNITS }, (_, i) =>
    i % 2 === 0 ? { complete: [1], censored: [] } : { complete: [], censored: [50] },
  );
  const last = samplePoints(pooledSample(units, ONE_EACH), RESAMPLES, false, 0).at(-1);
  expect(last?.x).toBe(50);
  expect(last?.y).toBeCloseTo(0.5, 9);
});

test("a band holds the times without what traps may have added to them, as the lower ends of quantiles do", () => {
  const random = seededRandom(8);
  const times = Array.from({ length: UNITS }, () => 1 - Math.log(1 - random()));
  const sampleOf = (all: readonly number[]) =>
    pooledSample(
      all.map((time) => ({ complete: [time], censored: [] })),
      ONE_EACH,
    );
  const shorter = sampleOf(times.map((time) => time - 0.5));
  const [least] = boundedQuantiles(shorter, [0.5], RESAMPLES);
  const [median] = boundedQuantiles(sampleOf(times), [0.5], RESAMPLES);
  const [from, end] = crossings(samplePoints(sampleOf(times), RESAMPLES, false, 0, shorter));
  expect((from ?? 0) / (least?.lo ?? 0)).toBeWithin(0.85, 1.1);
  expect((end ?? 0) / (median?.hi ?? 0)).toBeWithin(0.85, 1.15);
});
