import { describe, expect, test } from "bun:test";
import { differenceOfRuns } from "../../../src/compare/run-difference.ts";
import type { SavedRow, SavedRun } from "../../../src/compare/saved-run.ts";
import { renderDifference } from "../../../src/report/difference-table.ts";
import { metadataWith } from "../../fixtures/run-metadata.ts";

const ROW: SavedRow = {
  metric: "iai_p50_ns",
  region_type: "weight",
  mapping_kind: null,
  phase: "generation",
  step: "decode",
  grain_bytes: null,
  source: "watch",
  unit: "ns",
  value: 1000,
  lo: 900,
  hi: 1100,
  ci_level: 0.95,
  n: 50,
  label: null,
  status: "ok",
  why: null,
};

function runOf(rows: readonly Partial<Record<string, string | number | null>>[], model = "m", options = {}): SavedRun {
  return {
    path: `results/${model}/r`,
    metadata: metadataWith({ model: { id: model }, options: { budget: 1, output: "somewhere", ...options } }),
    rows: rows.map((row) => ({ ...ROW, ...row }) as SavedRow),
  };
}

const one = (a: SavedRun, b: SavedRun) => differenceOfRuns(a, b).metrics[0];

describe("two runs side by side", () => {
  test("differ where the interval of the difference leaves out zero, and only there", () => {
    expect(one(runOf([{}]), runOf([{ value: 1100, lo: 1000, hi: 1200 }]))).toMatchObject({
      difference: { value: 100 },
      difference_pct: 10,
      method: "mover",
      differs: false,
    });
    expect(one(runOf([{}]), runOf([{ value: 1200, lo: 1100, hi: 1300 }]))?.differs).toBe(true);
  });

  test("compare a bound by the farthest that it allows, and say nothing where bounds overlap", () => {
    const bound = { status: "bound", value: null, lo: null, hi: 10 };
    expect(one(runOf([bound]), runOf([{}]))).toMatchObject({
      difference: { value: null, lo: 890, hi: null },
      method: "bounds",
      differs: true,
    });
    expect(one(runOf([bound]), runOf([{ ...bound, hi: 2000 }]))).toMatchObject({
      differs: null,
      why: "the bounds overlap",
    });
  });

  test("give the reason for a figure that one of them cannot tell", () => {
    const blind = { status: "not_identifiable", value: null, lo: null, hi: null, why: "no write in the run" };
    expect(one(runOf([{}]), runOf([blind]))).toMatchObject({
      differs: null,
      why: "B: not identifiable: no write in the run",
    });
    expect(one(runOf([{}]), runOf([]))?.why).toBe("B has no such figure");
  });

  test("compare what was counted without an interval", () => {
    const counted = { ci_level: null, lo: null, hi: null };
    expect(one(runOf([{ ...counted, value: 4 }]), runOf([{ ...counted, value: 6 }]))).toMatchObject({
      difference: { value: 2, lo: 2, hi: 2 },
      method: "counted",
      differs: null,
    });
  });

  test("keep the ends of what was read now and then, and hold all that they allow", () => {
    const read = { metric: "resident_bytes", ci_level: null };
    const found = one(
      runOf([{ ...read, value: 100, lo: 100, hi: 160 }]),
      runOf([{ ...read, value: 120, lo: 120, hi: 130 }]),
    );
    expect(found).toMatchObject({ difference: { value: 20, lo: -40, hi: 30 }, method: "bounds", differs: false });
  });

  test("do not tell apart what was kept for as long as one looked and what was kept for a known time", () => {
    const labelled = (label: string) => runOf([{ metric: "suitability", value: null, lo: null, hi: null, label }]);
    expect(one(labelled("kept_throughout"), labelled("high_mrm"))).toMatchObject({ differs: null });
    expect(one(labelled("kept_throughout"), labelled("kept_throughout"))).toMatchObject({ differs: false });
    expect(one(labelled("low_mrm"), labelled("high_mrm"))).toMatchObject({ differs: true });
  });

  test("take of each the first source that tells where no source is in both", () => {
    const silent = { status: "not_identifiable", value: null, lo: null, hi: null };
    const found = one(runOf([silent, { source: "step" }]), runOf([{ source: "import" }]));
    expect([found?.a?.source, found?.b?.source, found?.differs]).toEqual(["step", "import", false]);
  });

  test("pair the same source with the same, and name sources that differ", () => {
    const a = runOf([{}, { source: "pebs", value: 1 }]);
    expect(differenceOfRuns(a, runOf([{ source: "pebs" }])).metrics.map((row) => row.a?.source)).toEqual(["pebs"]);
    expect(one(runOf([{}]), runOf([{ source: "pebs" }]))?.why).toBe("the sources differ: watch and pebs");
  });

  test("name the model, the options and whatever else was not alike, but not where results went", () => {
    const { contrasts } = differenceOfRuns(runOf([{}]), runOf([{}], "other", { budget: 2, output: "elsewhere" }));
    expect(contrasts).toEqual([
      { what: "model", a: "m", b: "other" },
      { what: "option budget", a: "1", b: "2" },
    ]);
  });

  test("name options as a command line would, with their units", () => {
    const options = { budget: 1, duration: 2e9, baseline: 5e8, max_size: 2 ** 32, source: ["watch", "clock"] };
    const { contrasts } = differenceOfRuns(runOf([{}]), runOf([{}], "m", options));
    expect(contrasts).toEqual([
      { what: "option duration", a: "not told", b: "2s" },
      { what: "option baseline", a: "not told", b: "500ms" },
      { what: "option max_size", a: "not told", b: "4GiB" },
      { what: "option source", a: "not told", b: "watch,clock" },
    ]);
  });

  test("are printed in lines that fit, with both values, their difference and its share", () => {
    const difference = differenceOfRuns(runOf([{}]), runOf([{ value: 1200, lo: 1100, hi: 1300 }]));
    const shown = renderDifference(difference, { width: 100, color: false, unicode: false });
    expect(shown).toContain("  between accesses: p50, decode  ");
    expect(shown).toContain("1.00 us [0.900, 1.10]");
    expect(shown).toContain("+0.200 us (+20.0 %)");
    expect(shown).toContain("1 of 1 differ");
    expect(Math.max(...shown.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
  });
});
