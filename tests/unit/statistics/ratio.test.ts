/** Ratios of sums over units: how often their intervals hold. */
import { expect, test } from "bun:test";
import { resample } from "../../../src/statistics/bootstrap.ts";
import { normalDraw } from "../../../src/statistics/normal.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { ratioInterval } from "../../../src/statistics/ratio.ts";

/** Share of fixed seeds in which the interval of the mean of so many values holds what is true. */
function held(units: number, runs: number): number {
  const bottom = new Float64Array(units).fill(1);
  let count = 0;
  for (let seed = 1; seed <= runs; seed++) {
    const random = seededRandom(seed, 3);
    const top = Float64Array.from(bottom, () => 100 + normalDraw(random));
    const { lo, hi } = ratioInterval(top, bottom, resample(new Uint8Array(units), seed, 1, 399), units);
    if ((lo ?? Number.NaN) <= 100 && 100 <= (hi ?? Number.NaN)) count += 1;
  }
  return count / runs;
}

test("an interval of few blocks has the tails of few, and holds as often as one of many", () => {
  expect(held(10, 1000)).toBeGreaterThan(0.93);
  expect(held(80, 300)).toBeGreaterThan(0.93);
});
