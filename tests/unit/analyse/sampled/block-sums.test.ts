import { describe, expect, test } from "bun:test";
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { blockPlan } from "../../../../src/analyse/sampled/block-sums.ts";

const S = 1e9;
const prefill = (begin_ns: number, end_ns: number): StepSample => ({ step: "prefill", begin_ns, end_ns, n_tokens: 9 });

describe("blocks of time", () => {
  test("have 100 ms while they are few", () => {
    const plan = blockPlan({ begin_ns: 0.25 * S, end_ns: 400 * S }, [
      prefill(1 * S, 1.05 * S),
      prefill(9.9 * S, 10 * S),
    ]);
    // Those of prompts are 10, 99 and 100.
    expect(plan.blocks).toEqual([3999, 3, 0]);
    expect(plan.blockOf(0, 0.25 * S, 0)).toBe(0);
    expect(plan.blockOf(0, 400 * S, 0)).toBe(3998);
    expect([1, 9.9, 10, 5].map((s) => plan.blockOf(1, s * S, 0))).toEqual([0, 1, 2, -1]);
  });

  test("double in length where there would be more than some thousands, so that days have no more", () => {
    for (const days of [1, 30, 365 * 100]) {
      const end_ns = days * 86_400 * S;
      const plan = blockPlan({ begin_ns: 0, end_ns }, [prefill(0, end_ns / 2)]);
      const [all = 0, prefills = 0] = plan.blocks;
      expect(all).toBeGreaterThan(2048);
      expect(all).toBeLessThanOrEqual(4097);
      expect(Math.abs(prefills - all / 2)).toBeLessThanOrEqual(1);
      expect(plan.blockOf(0, end_ns, 0)).toBe(all - 1);
    }
  });
});
