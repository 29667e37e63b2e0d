import { expect, test } from "bun:test";
import { leastMean, mostMean } from "../../../src/statistics/poisson-mean.ts";

// Exact ends of Garwood, Biometrika 28, 1936: half of chi-square quantiles.
const EXACT = [
  [0, 0, 3.689],
  [1, 0.025, 5.572],
  [4, 1.09, 10.242],
  [10, 4.795, 18.39],
  [100, 81.36, 121.63],
] as const;

test.each(EXACT)(
  "a mean of which %p were counted is between the exact ends, %p and %p, within 3 % and 0.05",
  (n, lo, hi) => {
    expect(leastMean(n)).toBeWithin(0.97 * lo - 0.05, 1.03 * lo + 0.05);
    expect(mostMean(n)).toBeWithin(0.97 * hi, 1.03 * hi);
  },
);
