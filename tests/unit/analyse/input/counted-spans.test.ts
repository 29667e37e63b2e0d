import { describe, expect, test } from "bun:test";
import { countedSpans } from "../../../../src/analyse/input/counted-spans.ts";
import { spansOf } from "../../../../src/analyse/input/span.ts";
import { spanSlices } from "../../../../src/analyse/input/span-slices.ts";
import type { Slot } from "../../../../src/label/timeline/phase.ts";

const slot = (begin_ns: number, phase: Slot["phase"]): Slot => ({
  begin_ns,
  phase,
  step: null,
  token_index: null,
  context_tokens: null,
});
const TIMELINE = new Map([
  [
    1,
    [
      slot(Number.NEGATIVE_INFINITY, "idle"),
      slot(100, "weight_load"),
      slot(200, "idle"),
      slot(300, "generation"),
      slot(700, "teardown"),
    ],
  ],
]);
const STEPS = [
  { step: "prefill" as const, begin_ns: 300, end_ns: 400, n_tokens: 8 },
  { step: "decode" as const, begin_ns: 400, end_ns: 500, n_tokens: 1 },
  { step: "decode" as const, begin_ns: 510, end_ns: 600, n_tokens: 1 },
];
const SPANS = countedSpans(spansOf(STEPS, 1000), TIMELINE, 1000);

describe("the spans of which counts are told", () => {
  test("are the run, its phases and the steps of generation", () => {
    expect(SPANS.map(({ phase, step, window_ns }) => [phase, step, window_ns])).toEqual([
      ["all", "all", 1000],
      ["weight_load", "all", 100],
      ["generation", "all", 300],
      ["generation", "prefill", 100],
      ["generation", "decode", 200],
      ["idle", "all", 300],
      ["teardown", "all", 300],
    ]);
  });

  test("leave no time of the run out, and none twice", () => {
    const phases = SPANS.filter(({ phase, step }) => phase !== "all" && step === "all");
    expect(phases.reduce((sum, { window_ns }) => sum + window_ns, 0)).toBe(1000);
  });

  test("without an engine are the run alone", () => {
    expect(countedSpans(spansOf([], 50), new Map(), 50).map(({ phase }) => phase)).toEqual(["all"]);
  });
});

describe("slices of spans", () => {
  const { sliceAt, spansOf: masks } = spanSlices(SPANS, 1000);
  const at = (time: number): string[] =>
    SPANS.filter((_, s) => ((masks[sliceAt(time)] ?? 0) >>> s) & 1).map(({ phase, step }) =>
      step === "all" ? phase : step,
    );

  test("name every span that holds a moment, in any order of asking", () => {
    expect(at(450)).toEqual(["all", "generation", "decode"]);
    expect(at(0)).toEqual(["all", "idle"]);
    expect(at(100)).toEqual(["all", "weight_load"]);
    expect(at(399)).toEqual(["all", "generation", "prefill"]);
    expect(at(200)).toEqual(["all", "idle"]);
    expect(at(999)).toEqual(["all", "teardown"]);
  });

  test("hold what lies beyond the ends of the run", () => {
    expect(at(-5)).toEqual(["all", "idle"]);
    expect(at(1000)).toEqual(["all", "teardown"]);
  });
});
