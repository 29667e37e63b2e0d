import { expect, test } from "bun:test";
import { leastMean } from "../../../src/statistics/poisson-mean.ts";
import { toldShare } from "../../../src/statistics/told-mean.ts";

const FEWEST = 30;

test("the lower limit of a count that may be told by luck alone is next to nothing, and of one far above the fewest what it is of any", () => {
  const shares = [30, 31, 40, 50, 70, 200].map((n) => toldShare(n, FEWEST));
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares[0]).toBe(shares[1] ?? 0);
  expect(shares[1]).toBeWithin(0.01, 0.1);
  expect(shares[2]).toBeWithin(0.8, 0.95);
  expect(shares[4]).toBeWithin(0.99, 1.001);
  expect(shares[5]).toBe(1);
});

test.each([2, 10, 15, 20, 26, 33, 45, 80])(
  "of counts with a mean of %p that are told 97.5 % have it above their lower limit",
  (mean) => {
    let term = 1;
    let [told, held] = [0, 0];
    for (let n = FEWEST; n < 300; n++) {
      told += term;
      if (leastMean(n) * toldShare(n, FEWEST) <= mean) held += term;
      term *= mean / (n + 1);
    }
    // Byar's limits are near the exact ones.
    expect(held / told).toBeGreaterThanOrEqual(0.974);
  },
);
