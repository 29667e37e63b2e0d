import { describe, expect, test } from "bun:test";
import { rowOf } from "../../../../src/analyse/figures/figure-row.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { interval } from "../../../../src/statistics/interval.ts";
import { input, region } from "../sample-input.ts";

describe("a figure whose interval has one end only", () => {
  const group = groupsOf(input({ regions: [region({})] }))[0];
  const row = (lo: number | null, hi: number | null) => {
    if (group === undefined) throw new Error("the input has no group");
    return rowOf(
      group,
      { metric: "retention_p90_ns", source: "step", estimate: interval(7, lo, hi), n: 1000, method: "m" },
      "ns",
    );
  };

  test("is a bound, and says which end lies beyond what was seen", () => {
    expect(row(5, null)).toMatchObject({ status: "bound", value: null, lo: 5, hi: null });
    expect(row(5, null).why).toBe("the upper end of the interval lies beyond what was seen");
    expect(row(null, 9)).toMatchObject({ status: "bound", value: null, lo: null, hi: 9 });
  });

  test("is a value where both are known", () => {
    expect(row(5, 9)).toMatchObject({ status: "ok", value: 7, lo: 5, hi: 9, why: null });
  });
});
