import { describe, expect, test } from "bun:test";
import { phaseAt, slotAt, timelineOf } from "../../../../src/label/timeline/phase.ts";
import type { StepRow } from "../../../../src/label/timeline/step-row.ts";

function step(kind: string, begin_ns: number, end_ns: number, more: Partial<StepRow> = {}): StepRow {
  const none = { n_tokens: null, n_sequences: null, position_first: null, sequence_id: null, detail: null };
  return { pid: 1, engine: null, kind, begin_ns, end_ns, ...none, result: 0, ...more };
}
const decode = (begin: number, end: number, n_tokens: number, more: Partial<StepRow> = {}) =>
  step("decode", begin, end, { n_tokens, ...more });

describe("timelineOf", () => {
  const timeline = timelineOf([
    step("model_load", 10, 20),
    step("model_free", 21, 21),
    step("model_load", 30, 40),
    step("context", 40, 50),
    decode(60, 70, 5, { position_first: 0 }),
    decode(72, 80, 1, { position_first: 5 }),
    decode(82, 90, 3, { n_sequences: 3 }),
    decode(2e9, 2e9 + 5, 1),
    step("context_free", 3e9, 3e9 + 1),
  ]);
  const slots = timeline.get(1) ?? [];
  const at = (time: number) => slots[slotAt(slots, time)];

  test("loading lasts from the first model_load, simulated or not, to the end of the context", () => {
    expect([9, 10, 25, 49].map((time) => phaseAt(timeline, 1, time))).toEqual([
      "idle",
      "weight_load",
      "weight_load",
      "weight_load",
    ]);
    expect(phaseAt(timeline, 1, 55)).toBe("idle");
  });

  test("more tokens than sequences is prefill, and decode steps are counted from 0", () => {
    expect([65, 75, 85, 2e9].map((time) => [at(time)?.step, at(time)?.token_index])).toEqual([
      ["prefill", null],
      ["decode", 0],
      ["decode", 1],
      ["decode", 2],
    ]);
    expect([65, 75, 85].map((time) => at(time)?.context_tokens)).toEqual([5, 6, null]);
  });

  test("short gaps between batches are generation without a step, long ones are idle", () => {
    expect([at(71)?.phase, at(71)?.step]).toEqual(["generation", null]);
    expect(phaseAt(timeline, 1, 1e9)).toBe("idle");
  });

  test("teardown begins with the first free after the last batch", () => {
    expect([phaseAt(timeline, 1, 2.9e9), phaseAt(timeline, 1, 4e9)]).toEqual(["idle", "teardown"]);
  });

  test("a process without an engine has no phase", () => {
    expect(phaseAt(timeline, 2, 65)).toBeNull();
  });
});
