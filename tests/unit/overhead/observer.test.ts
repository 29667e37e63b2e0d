import { describe, expect, test } from "bun:test";
import { type ObserverInput, observerCost } from "../../../src/overhead/observer.ts";

const input: ObserverInput = {
  wall_ns: 10e9,
  cpus: 2,
  tracer_cpu_ns: 0.4e9,
  tracer_peak_rss_bytes: 90 * 2 ** 20,
  target_cpu_ns: 10.1e9,
  target_run_delay_ns: null,
  target_waiter_cpu_ns: null,
  machine_busy_ns: null,
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

  test("charges of interrupts of CPUs what found the target there: half of them on two CPUs to one thread, next to none to one that sleeps", () => {
    const paid = (target_cpu_ns: number) => {
      const events = [
        { what: "retargets", count: 10_000, each_ns: { value: 1e4, lo: 1e4, hi: 1e4 }, interrupted_cpus: 2 },
      ];
      return observerCost({ ...input, target_cpu_ns, events }).parts[0]?.cost_ns;
    };
    expect(paid(10e9)).toMatchObject({ value: 0.5e8 });
    expect(paid(10e9)?.hi).toBeWithin(0.5e8, 0.52e8);
    expect(paid(20e9)).toEqual({ value: 1e8, lo: 1e8, hi: 1e8 });
    expect(paid(0.02e9)?.value).toBeCloseTo(1e5, 0);
    expect(paid(0.02e9)?.hi).toBeWithin(1e5, 2e5);
  });

  test("orders its interval and lets the upper end pay for CPUs that are contended", () => {
    const { slowdown_pct } = observerCost(input);
    expect(slowdown_pct.lo).toBeLessThan(slowdown_pct.value);
    expect(slowdown_pct.hi).toBeGreaterThan(slowdown_pct.value);
    const alone = observerCost({ ...input, cpus: 64 }).slowdown_pct;
    expect(alone.hi).toBeLessThan(slowdown_pct.hi);
    expect(alone.value).toBe(slowdown_pct.value);
  });

  test("takes of the target's waiting the tracer's share of what others than the target ran, and no more than it ran", () => {
    const waited = (target_run_delay_ns: number | null, machine_busy_ns: number | null) =>
      observerCost({ ...input, target_cpu_ns: 10e9, target_run_delay_ns, machine_busy_ns });
    // Nobody else ran: all of the waiting was for the tracer.
    expect(waited(0.05e9, 10.4e9).contention_pct).toBeCloseTo(0.5, 9);
    expect(waited(0.05e9, null).contention_pct).toBeCloseTo(0.5, 9);
    // Neighbours ran four times as long as the tracer.
    expect(waited(0.05e9, 12e9).contention_pct).toBeCloseTo(0.1, 9);
    // More threads than CPUs wait for each other too.
    expect(waited(30e9, 10.4e9).contention_pct).toBeCloseTo(4, 9);
    expect(waited(0, 10.4e9).contention_pct).toBe(0);
    expect(waited(null, 10.4e9).contention_pct).toBeNull();
  });

  test("takes no waiting of a thread for another thread of the target for one for the tracer", () => {
    const waited = (target_waiter_cpu_ns: number | null) =>
      observerCost({
        ...input,
        target_cpu_ns: 10e9,
        target_run_delay_ns: 0.4e9,
        target_waiter_cpu_ns,
        machine_busy_ns: 10.4e9,
      }).contention_pct;
    // The one thread that works waited: only the tracer can have had its CPU.
    expect(waited(10e9)).toBeCloseTo(4, 9);
    expect(waited(null)).toBeCloseTo(4, 9);
    // Threads that hardly ran waited, while the others had 10 s of CPU and the tracer 0.4 s.
    expect(waited(0)).toBeCloseTo((4 * 0.4) / 10.4, 9);
  });

  test("has an upper end with the waiting that was measured, not with all that the tracer ran", () => {
    const guessed = observerCost(input).slowdown_pct;
    const measured = observerCost({ ...input, target_run_delay_ns: 0.01e9, machine_busy_ns: 10.5e9 }).slowdown_pct;
    expect(measured.value).toBe(guessed.value);
    expect(measured.hi).toBeLessThan(guessed.hi - 1);
    expect(measured.hi).toBeGreaterThan(measured.value);
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
