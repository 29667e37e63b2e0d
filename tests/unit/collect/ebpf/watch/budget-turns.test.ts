import { describe, expect, test } from "bun:test";
import { budgetTurns } from "../../../../../src/collect/ebpf/watch/budget-turns.ts";
import { createPace } from "../../../../../src/collect/ebpf/watch/pace.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";

const MS = 1_000_000n;

describe("turns of the budget", () => {
  test("begin with all of it, then have a quarter for four times as long, in uneven lengths", () => {
    const turns = budgetTurns(2, seededRandom(1));
    let whole = 0;
    for (let now = 0n; now < 250_000n * MS; now += 10n * MS) if (turns.pctAt(now) === 2) whole += 1;
    expect(turns.turns.slice(0, 3).map(({ budget_pct }) => budget_pct)).toEqual([2, 0.5, 2]);
    // 100 cycles: five standard errors of the share are 0.02.
    expect(whole / 25_000).toBeWithin(0.18, 0.22);
    const lengths = turns.turns.slice(1).map(({ begin_ns }, i) => begin_ns - (turns.turns[i]?.begin_ns ?? 0n));
    expect(new Set(lengths).size).toBeGreaterThan(50);
  });

  test("make the schedule of watches as much slower as there is less to spend, at once", () => {
    const costs = { trapNs: 10_000, retargetNs: 20_000 };
    const pace = createPace({ costs, budgetPct: 1, cpus: 1 }, () => 0);
    // 8 traps and a retarget are 100 us: one watch in 10 ms.
    const short = { name: "short", mode: "rw", trapLimit: 8, dwellLimitNs: 1e8 } as const;
    pace.armed(short);
    expect([pace.isDue(9.9e6), pace.isDue(10e6)]).toEqual([false, true]);
    pace.change(0.25, 2e6);
    expect([pace.isDue(33.9e6), pace.isDue(34e6)]).toEqual([false, true]);
    pace.armed(short);
    expect([pace.isDue(73.9e6), pace.isDue(74e6)]).toEqual([false, true]);
  });
});
