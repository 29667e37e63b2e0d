import { expect, test } from "bun:test";
import { resample } from "../../../src/statistics/bootstrap.ts";
import { excessSkewness, fartherBy } from "../../../src/statistics/excess-skewness.ts";

/** Excess skewness of the share of what is short, where each unit has so many short and long times. */
function ofShares(units: readonly (readonly [short: number, long: number])[]): number {
  const resamples = resample(new Uint8Array(units.length), 1);
  const shares = Float64Array.from(resamples, (times) => {
    let short = 0;
    let all = 0;
    units.forEach(([mine, others], unit) => {
      short += mine * (times[unit] ?? 0);
      all += (mine + others) * (times[unit] ?? 0);
    });
    return short / all;
  });
  return excessSkewness(shares, resamples);
}

const repeat = (count: number, unit: readonly [number, number]): (readonly [number, number])[] =>
  new Array(count).fill(unit);

test("a share of units that count alike is no more skewed than that of independent values", () => {
  expect(Math.abs(ofShares([...repeat(90, [1, 0]), ...repeat(10, [0, 1])]))).toBeLessThan(0.02);
});

test("heavy units of short times skew their share upwards, those of long times downwards", () => {
  const heavy = ofShares([...repeat(5, [20, 0]), ...repeat(100, [0, 1])]);
  expect(heavy).toBeGreaterThan(0.2);
  expect(ofShares([...repeat(5, [0, 20]), ...repeat(100, [1, 0])])).toBeCloseTo(-heavy, 1);
});

test("skewness takes the end on its own side farther, and leaves the other", () => {
  expect(fartherBy(0.3)).toBeGreaterThan(0.4);
  expect(fartherBy(-0.3)).toBe(0);
});

test("a share that is the same on every resample has none", () => {
  expect(ofShares(repeat(30, [1, 1]))).toBe(0);
});
