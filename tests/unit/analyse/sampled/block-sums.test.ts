import { describe, expect, test } from "bun:test";
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { blockPlan } from "../../../../src/analyse/sampled/block-sums.ts";
import { STEPS } from "../../../../src/analyse/sampled/sampled-rows.ts";

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
    expect(plan.blockOf(0, 0.25 * S)).toBe(0);
    expect(plan.blockOf(0, 400 * S)).toBe(3998);
    expect([1, 9.9, 10, 5].map((s) => plan.blockOf(1, s * S))).toEqual([0, 1, 2, -1]);
  });

  test("are of the step whose time they are in, with what is done between two calls, and of none in a long pause", () => {
    const decode = (begin_ns: number): StepSample => ({
      step: "decode",
      begin_ns,
      end_ns: begin_ns + 0.1 * S,
      n_tokens: 1,
    });
    const guess: StepSample = { ...decode(2.31 * S), is_guess: true };
    const steps = [prefill(1 * S, 2 * S), decode(2.2 * S), guess, decode(2.5 * S), decode(9 * S)];
    const plan = blockPlan({ begin_ns: 1 * S, end_ns: 9.1 * S }, steps);
    const at = (s: number) => [STEPS[plan.stepAt(s * S)], plan.blockOf(plan.stepAt(s * S), s * S)];
    // Prompts have blocks of 100 ms from the one of their begin on.
    expect([1, 2.1, 2.2, 2.35, 2.5].map(at)).toEqual([
      ["prefill", 0],
      ["prefill", 11],
      ["decode", 0],
      ["decode", 0],
      ["decode", 1],
    ]);
    expect([5, 9.05].map((s) => at(s)[0])).toEqual(["none", "decode"]);
    expect(plan.blocks[2]).toBe(3);
  });

  test("double in length where there would be more than some thousands, so that days have no more", () => {
    for (const days of [1, 30, 365 * 100]) {
      const end_ns = days * 86_400 * S;
      const plan = blockPlan({ begin_ns: 0, end_ns }, [prefill(0, end_ns / 2)]);
      const [all = 0, prefills = 0] = plan.blocks;
      expect(all).toBeGreaterThan(2048);
      expect(all).toBeLessThanOrEqual(4097);
      expect(Math.abs(prefills - all / 2)).toBeLessThanOrEqual(1);
      expect(plan.blockOf(0, end_ns)).toBe(all - 1);
    }
  });
});
