import { expect, test } from "bun:test";
import { interval } from "../../../src/statistics/interval.ts";
import { withUnseen } from "../../../src/statistics/unseen-room.ts";

/** At 97.5 %: as large a share may be where none of 100 was. */
const SHARE = 1 - 0.025 ** (1 / 100);

test("an interval of no width gets room for a share that is one more or one less", () => {
  const { value, lo, hi } = withUnseen(interval(3, 3, 3), 100, 0);
  expect(value).toBe(3);
  expect(lo ?? 0).toBeCloseTo(3 - SHARE, 6);
  expect(hi ?? 0).toBeCloseTo(3 + SHARE, 6);
});

test("one that is wider stays as it is", () => {
  expect(withUnseen(interval(3, 2, 4), 100, 0)).toEqual(interval(3, 2, 4));
});

test("no lower end is below the least that there can be", () => {
  expect(withUnseen(interval(1, 1, 1), 100, 1).lo).toBe(1);
  expect(withUnseen(interval(0.01, 0.01, 0.01), 100, 0).lo).toBe(0);
});

test("those that were not seen may be as much more, and as much less, as is given", () => {
  const { lo, hi } = withUnseen(interval(3, 3, 3), 100, 1, { below: 2, above: 5 });
  expect(lo ?? 0).toBeCloseTo(3 - 2 * SHARE, 6);
  expect(hi ?? 0).toBeCloseTo(3 + 5 * SHARE, 6);
});

test("ends are made where there are none, and nothing is made of no value", () => {
  expect(withUnseen(interval(3, null, null), 100, 0).hi ?? 0).toBeCloseTo(3 + SHARE, 6);
  expect(withUnseen(interval(null, 1, null), 100, 0)).toEqual(interval(null, 1, null));
});
