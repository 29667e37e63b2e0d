import { describe, expect, test } from "bun:test";
import { carryingUnits } from "../../../src/statistics/carrying-units.ts";

describe("units that carry a sum", () => {
  test("are all of those that count alike, in whatever measure", () => {
    expect(carryingUnits(new Float64Array(20).fill(3e9))).toBeCloseTo(20, 9);
  });

  test("are the large ones alone where there are small ones beside them", () => {
    expect(carryingUnits([...new Array(12).fill(1000), ...new Array(500).fill(1)])).toBeCloseTo(12, 1);
  });

  test("are one where one is much larger than all others, and none of nothing", () => {
    expect(carryingUnits([1e6, ...new Array(300).fill(1)])).toBeCloseTo(1, 3);
    expect(carryingUnits([0, 0])).toBe(0);
  });
});
