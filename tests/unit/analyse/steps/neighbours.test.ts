import { expect, test } from "bun:test";
import { sumsOfNeighbours } from "../../../../src/analyse/steps/neighbours.ts";

test("values are summed with their neighbours where there are more than may be, and nothing is lost", () => {
  const values = Float64Array.from({ length: 10 }, (_, i) => i);
  expect(sumsOfNeighbours(values, 10)).toBe(values);
  expect([...sumsOfNeighbours(values, 4)]).toEqual([3, 12, 21, 9]);
  expect([...sumsOfNeighbours(values, 9)]).toEqual([1, 5, 9, 13, 17]);
});
