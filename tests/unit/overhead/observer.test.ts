import { describe, expect, test } from "bun:test";
import { type ObserverInput, observerCost } from "../../../src/overhead/observer.ts";

const input: ObserverInput = {
  wall_ns: 10e9,
  cpus: 2,
  tracer_cpu_ns: 0.4e9,
  tracer_peak_rss_bytes: 90 * 2 ** 20,
  target_cpu_ns: 10.1e9,
  events: [
    { what: "retargets", count: 100, each_ns: { value: 40_000, lo: 30_000, hi: 50_000 } },
    { what: "traps", count: 10_000, each_ns: { value: 9000, lo: 8000, hi: 12_000 }, is_trap: true },
  ],
};

describe("the observer's cost", () => {
  test("adds up what was paid on the target's time, over the time that it would have used alone", () => {
    const cost = observerCost(input);
    const paid = 10_000 * 9000 + 100 * 40_000;
    expect(cost.slowdown_pct.value).toBeCloseTo((100 * paid) / (10.1e9 - paid), 9);
    expect(cost).toMatchObject({ cpu_pct: 4, traps: 10_000, trap_ns: 90e6 });
    expect(cost.parts.map(({ what }) => what)).toEqual(["traps", "retargets"]);
  });

  test("orders its interval and lets the upper end pay for CPUs that are contended", () => {
    const { slowdown_pct } = observerCost(input);
    expect(slowdown_pct.lo).toBeLessThan(slowdown_pct.value);
    expect(slowdown_pct.hi).toBeGreaterThan(slowdown_pct.value);
    const alone = observerCost({ ...input, cpus: 64 }).slowdown_pct;
    expect(alone.hi).toBeLessThan(slowdown_pct.hi);
    expect(alone.value).toBe(slowdown_pct.value);
  });

  test("is unknown, not zero, where the target's CPU time is", () => {
    expect(observerCost({ ...input, target_cpu_ns: null }).slowdown_pct.value).toBeNaN();
    expect(observerCost({ ...input, target_cpu_ns: 0 }).slowdown_pct.value).toBeNaN();
  });

  test("is zero where nothing was done on the target's time", () => {
    const idle = observerCost({ ...input, events: [] });
    expect(idle).toMatchObject({ traps: 0, trap_ns: 0, parts: [] });
    expect(idle.slowdown_pct.value).toBe(0);
  });
});

test("each part of the cost is in % of the same time, and says whether the budget bounds it", () => {
  const cost = observerCost({
    ...input,
    events: input.events.map((one) => ({ ...one, is_budgeted: one.is_trap ?? false })),
  });
  expect(cost.parts.map(({ what, budgeted }) => [what, budgeted])).toEqual([
    ["traps", true],
    ["retargets", false],
  ]);
  const sum = cost.parts.reduce((total, { cost_pct }) => total + cost_pct, 0);
  expect(sum).toBeCloseTo(cost.slowdown_pct.value, 9);
});
