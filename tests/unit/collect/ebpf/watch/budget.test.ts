import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createBudget } from "../../../../../src/collect/ebpf/watch/budget.ts";

const costs = { trapNs: 10_000, retargetNs: 30_000 };
const open = (cpus = [0, 1]) => createBudget({ cpus, budgetPct: 1, costs });

describe("a budget of 1 % of each CPU", () => {
  test("allows one bucket at once, then what time gives", () => {
    const budget = open();
    budget.refill(0);
    expect(budget.canSpend()).toBe(true);
    budget.chargeTraps(0, 51);
    expect(budget.canSpend()).toBe(false);
    budget.refill(0.9e6);
    expect(budget.canSpend()).toBe(false);
    budget.refill(1.1e6);
    expect(budget.canSpend()).toBe(true);
  });
  test("gives a share that was changed from then on", () => {
    const budget = open();
    budget.refill(0);
    budget.chargeTraps(0, 51);
    budget.change(0.25);
    budget.refill(3.9e6);
    expect(budget.canSpend()).toBe(false);
    budget.refill(4.1e6);
    expect(budget.canSpend()).toBe(true);
  });
  test("waits while any one CPU is in debt", () => {
    const budget = open();
    budget.chargeTraps(1, 1000);
    expect(budget.canSpend()).toBe(false);
    expect(budget.spentNs()).toEqual([0, 10_000_000]);
  });
  test("charges a retarget on every CPU, and nothing to a CPU that it does not know", () => {
    const budget = open();
    budget.chargeRetargets(2);
    budget.chargeTraps(7, 100);
    expect(budget.spentNs()).toEqual([60_000, 60_000]);
  });
  test("charges looks at the target on every CPU, as debt of half a second at most: some could not wait", () => {
    const budget = open();
    budget.refill(0);
    budget.chargeLooks(200_000);
    expect(budget.canSpend()).toBe(true);
    budget.chargeLooks(60e6);
    expect(budget.spentNs()).toEqual([60_200_000, 60_200_000]);
    expect(budget.canSpend()).toBe(false);
    budget.refill(0.49e9);
    expect(budget.canSpend()).toBe(false);
    budget.refill(0.51e9);
    expect(budget.canSpend()).toBe(true);
  });
  test("lets looks that go on without end hold up each arming for half a second, and the next one again", () => {
    const budget = open([0]);
    budget.refill(0);
    const armedMs: number[] = [];
    for (let ms = 1; ms <= 3000; ms++) {
      budget.refill(ms * 1e6);
      // Five times what the budget has.
      budget.chargeLooks(50_000);
      if (!budget.canSpend()) continue;
      budget.chargeRetargets(1);
      armedMs.push(ms);
    }
    // While there is something saved up, nothing is held up.
    const later = armedMs.filter((ms) => ms > 20);
    expect(later.length).toBeWithin(4, 7);
    for (const [i, ms] of later.entries()) if (i > 0) expect(ms - (later[i - 1] ?? 0)).toBeWithin(400, 600);
  });
  test("gives nothing back for a look where its share has become less", () => {
    const budget = open([0]);
    budget.refill(0);
    budget.chargeLooks(60e6);
    budget.change(0.25);
    for (let i = 0; i < 100; i++) budget.chargeLooks(1);
    // 5 ms are owed, of which 2.5 us come in each ms now.
    budget.refill(1.9e9);
    expect(budget.canSpend()).toBe(false);
  });
  test("forgives a CPU no debt of traps for a look", () => {
    const budget = open([0]);
    budget.refill(0);
    budget.chargeTraps(0, 10_000);
    budget.chargeLooks(1);
    budget.refill(9e9);
    expect(budget.canSpend()).toBe(false);
  });
  test("saves up no more than one bucket in a pause, nor when the clock goes back", () => {
    const budget = open([0]);
    budget.refill(0);
    budget.refill(3600e9);
    budget.chargeTraps(0, 51);
    expect(budget.canSpend()).toBe(false);
    budget.refill(0);
    expect(budget.canSpend()).toBe(false);
  });
  test("is never exceeded by more than a bucket and what one arming can cost, whatever traps", () => {
    const most = 8 + 64 + 2;
    const step = fc.record({ pauseNs: fc.nat(10_000_000), traps: fc.nat(most), cpu: fc.nat(1) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const budget = open();
        let now = 0;
        budget.refill(now);
        for (const { pauseNs, traps, cpu } of steps) {
          now += pauseNs;
          budget.refill(now);
          if (!budget.canSpend()) continue;
          budget.chargeRetargets(2);
          budget.chargeTraps(cpu, traps);
          const allowed = 0.01 * now + 0.5e6 + 2 * costs.retargetNs + most * costs.trapNs;
          expect(Math.max(...budget.spentNs())).toBeLessThanOrEqual(allowed);
        }
      }),
    );
  });
});

test("traps that are paid later put nothing off until they are a quarter of a second's share, and then until they are paid", () => {
  const budget = createBudget({ cpus: [0, 1], budgetPct: 1, costs: { trapNs: 10_000, retargetNs: 50_000 } });
  const charge = (traps: number): void => {
    budget.chargeTraps(1, traps);
    budget.defer(1, traps);
  };
  budget.refill(0);
  charge(250);
  expect(budget.canSpend()).toBe(true);
  charge(50);
  expect(budget.canSpend()).toBe(false);
  expect(budget.deferredNs()).toBe(3e6);
  expect(budget.spentNs()).toEqual([0, 3e6]);
  budget.refill(40e6);
  expect(budget.canSpend()).toBe(false);
  budget.refill(60e6);
  expect(budget.canSpend()).toBe(true);
});
