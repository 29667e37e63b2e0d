import { describe, expect, test } from "bun:test";
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
