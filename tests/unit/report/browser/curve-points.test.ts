import { expect, test } from "bun:test";
import { type Point, stretchesOf } from "../../../../src/report/browser/curve-points.ts";

const point = (x: number, y: number | null): Point => ({
  ...{ x, y, x_end: null, low: 1, high: 9, n: 30, n_censored: 0 },
  ...{ name: null, class: "weight" },
});
const told = (ys: readonly (number | null)[], isLine: boolean) =>
  stretchesOf(
    ys.map((y, x) => point(x, y)),
    isLine,
  ).map(({ isBound, points }) => [isBound ? "bound" : "value", points.map(({ x }) => x).join(" ")]);

test("a curve of values alone, or of bounds alone, is one stretch", () => {
  expect(told([2, 3, 4], true)).toEqual([["value", "0 1 2"]]);
  expect(told([null, null, null], false)).toEqual([["bound", "0 1 2"]]);
});

test("a straight line from a value to a bound, or back, is no value", () => {
  expect(told([2, 3, null, null, 4, 5], true)).toEqual([
    ["value", "0 1"],
    ["bound", "1 2 3 4"],
    ["value", "4 5"],
  ]);
});

test("a step is what the point before it is", () => {
  expect(told([2, null, null, 4, 5], false)).toEqual([
    ["value", "0 1"],
    ["bound", "1 2 3"],
    ["value", "3 4"],
  ]);
});

test("a point by itself has no stretch", () => {
  expect(told([2], true)).toEqual([]);
  expect(told([], false)).toEqual([]);
});
