import { expect, test } from "bun:test";
import { bcaInterval, resample } from "../../../src/statistics/bootstrap.ts";
import { CI_LEVEL } from "../../../src/statistics/interval.ts";
import { intervalOf, replicateRatio } from "../../../src/statistics/stratified-ratio.ts";

test("a ratio that three of 300 units make vary has a wider interval than their resampling gives", () => {
  const units = 300;
  const top = new Float64Array(units).fill(1).fill(2, 0, 3);
  const bottom = new Float64Array(units).fill(1);
  const stratum = new Uint32Array(units);
  const replicated = replicateRatio({ top, bottom, stratum, scale: Float64Array.of(1) }, resample(stratum, 1));
  const { value, replicates, jackknife } = replicated;
  const plain = bcaInterval(value, replicates, jackknife, CI_LEVEL);
  const found = intervalOf(replicated, units);
  expect(found.value).toBeCloseTo(1.01, 9);
  expect((found.hi ?? 0) - 1.01).toBeGreaterThan(1.3 * ((plain.hi ?? 0) - 1.01));
  expect(found.lo).toBeLessThan(plain.lo ?? 0);
  expect(found.lo).toBeGreaterThanOrEqual(1);
});
