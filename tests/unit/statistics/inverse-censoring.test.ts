import { describe, expect, test } from "bun:test";
import { resample } from "../../../src/statistics/bootstrap.ts";
import { quantilesOfCases, type TimedCase } from "../../../src/statistics/inverse-censoring.ts";

/** The median of so many cases cut at 10, and so many seen whole at 20. */
function medianOf(cut: number, whole: number) {
  const cases = Array.from({ length: cut + whole }, (_, unit): TimedCase => {
    const isWhole = unit >= cut;
    const time = isWhole ? 20 : 10;
    return { unit, weight: 1, seen: time, isWhole, value: time };
  });
  return quantilesOfCases(cases, [0.5], resample(new Uint8Array(cut + whole), 1, 0, 199))[0];
}

describe("a case that was seen whole", () => {
  test("stands for those like it that were cut", () => {
    expect(medianOf(60, 40)?.value).toBe(20);
  });

  test("tells nothing where it would stand for five or more, and what was seen of all is a lower end", () => {
    expect(medianOf(90, 10)).toEqual({ value: null, lo: 10, hi: null });
  });
});
