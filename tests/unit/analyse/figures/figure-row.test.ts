import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { rowOf } from "../../../../src/analyse/figures/figure-row.ts";
import { groupsOf } from "../../../../src/analyse/input/group.ts";
import { interval } from "../../../../src/statistics/interval.ts";
import { ledgerRow } from "../../../fixtures/ledger.ts";
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

describe("a figure that cannot be", () => {
  const group = groupsOf(input({ regions: [region({})] }))[0];
  const row = (unit: string, value: number | null, lo: number | null, hi: number | null) => {
    if (group === undefined) throw new Error("the input has no group");
    const estimate = interval(value, lo, hi);
    return rowOf(group, { metric: "m", source: "step", estimate, n: 1000, method: "m" }, unit);
  };

  test("is none, and its reason says what it was", () => {
    const nothing = { status: "insufficient", value: null, lo: null, hi: null };
    expect(row("bytes/s", -2.3456, -5, 2)).toMatchObject({
      ...nothing,
      why: "the estimate was -2.35, which cannot be",
    });
    expect(row("ratio", 1.5, 0.5, 2)).toMatchObject({ ...nothing, why: "the estimate was 1.5, which cannot be" });
    expect(row("ns", Number.NaN, null, null)).toMatchObject({ ...nothing, why: "no estimate" });
  });

  test("is taken for the end that it stands at where only rounding is to blame", () => {
    expect(row("ratio", 1 + 1e-12, 0.9, 1)).toMatchObject({ status: "ok", value: 1 });
  });

  test("does not end an interval: that ends where figures do", () => {
    expect(row("bytes/s", 0.5, -0.2, 3)).toMatchObject({ status: "ok", value: 0.5, lo: 0, hi: 3 });
    expect(row("ratio", 0.9, 0.7, 1.2)).toMatchObject({ status: "ok", value: 0.9, lo: 0.7, hi: 1 });
  });

  test("is no figure whatever the estimator says, and none of its ends is", () => {
    const any = fc.option(fc.double());
    const inRange = (figure: number | null, most: number): boolean =>
      figure === null || Number.isNaN(figure) || (figure >= 0 && figure <= most);
    fc.assert(
      fc.property(fc.constantFrom("ratio", "ns", "bytes/s"), any, any, any, (unit, value, lo, hi) => {
        const most = unit === "ratio" ? 1 : Number.POSITIVE_INFINITY;
        const told = row(unit, value, lo, hi);
        return [told.value, told.lo, told.hi].every((figure) => inRange(figure, most));
      }),
    );
  });
});

describe("a label that rests on other sources", () => {
  const label = (lost: number) => {
    const ledger = [ledgerRow({ stream: "watch", source: "watch", stage: "segments" }, 1000, lost)];
    const group = groupsOf(input({ regions: [region({})], ledger }))[0];
    if (group === undefined) throw new Error("the input has no group");
    const none = interval(null, null, null);
    const figure = {
      metric: "suitability",
      source: "region_map",
      estimate: none,
      n: 100,
      method: "m",
      label: "high_mrm",
    };
    return rowOf(group, { ...figure, rests_on: ["watch"] }, "label");
  };

  test("is given while none of them lost more than 1 %", () => {
    const row = label(10);
    expect([row.status, row.label, row.lost_pct]).toEqual(["ok", "high_mrm", 1]);
  });

  test("is held back, with the reason, once one of them did", () => {
    const row = label(20);
    expect([row.status, row.label, row.lost_pct]).toEqual(["insufficient", "insufficient", 2]);
    expect(row.why).toBe("2 % of the events of watch were lost");
  });
});
