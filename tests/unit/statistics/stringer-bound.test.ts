import { expect, test } from "bun:test";
import { clopperPearson } from "../../../src/statistics/clopper-pearson.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { stringerBound } from "../../../src/statistics/stringer-bound.ts";

test("amounts that are all alike have the upper end of their share", () => {
  const share = clopperPearson(3, 100).hi ?? Number.NaN;
  expect(stringerBound([5, 5, 5], 100, 100, 5)).toBeCloseTo(5 * share, 9);
});

test("no amount leaves the share that one may have at most", () => {
  const share = clopperPearson(0, 400).hi ?? Number.NaN;
  expect(stringerBound([], 400, 400, 32)).toBeCloseTo(32 * share, 9);
});

test("a large amount among small ones counts for more than the mean of both", () => {
  const share = clopperPearson(4, 200).hi ?? Number.NaN;
  expect(stringerBound([1, 1, 1, 9], 200, 200, 0)).toBeGreaterThan(3 * share);
});

test("draws that count less give a higher bound", () => {
  expect(stringerBound([1, 2], 100, 30, 2)).toBeGreaterThan(stringerBound([1, 2], 100, 100, 2));
});

test("the bound is above the mean of rare amounts in nearly all samples, though their number and size vary", () => {
  const random = seededRandom(7);
  const drawn = 300;
  // 1.5 % of all are 1 to 8, the larger the rarer.
  const mean = (0.015 * (1 + 2 + 4 + 8)) / 4;
  let right = 0;
  for (let run = 0; run < 400; run++) {
    const amounts: number[] = [];
    for (let i = 0; i < drawn; i++) if (random() < 0.015) amounts.push(2 ** Math.floor(4 * random()));
    if (stringerBound(amounts, drawn, drawn, 8) >= mean) right += 1;
  }
  expect(right).toBeGreaterThan(388);
});
