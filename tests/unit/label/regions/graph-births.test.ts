import { describe, expect, test } from "bun:test";
import type { EngineRegion } from "../../../../src/label/regions/engine-regions.ts";
import { sinceItsStep } from "../../../../src/label/regions/graph-births.ts";
import type { Slot } from "../../../../src/label/timeline/phase.ts";

const slot = (begin_ns: number, step: Slot["step"]): Slot => ({
  begin_ns,
  phase: step === null ? "idle" : "generation",
  step,
  token_index: null,
  context_tokens: null,
});
/** A step of 100 to 200 ns, a pause, and another from 300 ns on. */
const SLOTS = [slot(Number.NEGATIVE_INFINITY, null), slot(100, "prefill"), slot(200, null), slot(300, "decode")];
const tensor = (fields: Partial<EngineRegion> = {}) => ({
  evidence: "engine_graph" as EngineRegion["evidence"],
  birth_censored: true,
  begin: 0x1000,
  end: 0x2000,
  birth_ns: 350,
  death_ns: Number.POSITIVE_INFINITY,
  ...fields,
});

describe("a tensor that the graph of a step told of", () => {
  test("is there since the step began", () => {
    expect(sinceItsStep(tensor(), [tensor()], SLOTS, 10)).toBe(300);
    expect(sinceItsStep(tensor({ birth_ns: 101 }), [], SLOTS, 10)).toBe(100);
  });

  test("is not there before its mapping came, nor before what held its bytes was gone", () => {
    expect(sinceItsStep(tensor(), [], SLOTS, 320)).toBe(320);
    const before = tensor({ begin: 0x1800, end: 0x2800, birth_ns: 50, death_ns: 330 });
    expect(sinceItsStep(tensor(), [before], SLOTS, 10)).toBe(330);
    expect(sinceItsStep(tensor(), [{ ...before, begin: 0x2000 }], SLOTS, 10)).toBe(300);
  });

  test("keeps its birth where that was seen, where something else told of it, and outside of steps", () => {
    expect(sinceItsStep(tensor({ birth_censored: false }), [], SLOTS, 10)).toBe(350);
    expect(sinceItsStep(tensor({ evidence: "engine_probe" }), [], SLOTS, 10)).toBe(350);
    expect(sinceItsStep(tensor({ birth_ns: 250 }), [], SLOTS, 10)).toBe(250);
    expect(sinceItsStep(tensor(), [], [], 10)).toBe(350);
  });
});
