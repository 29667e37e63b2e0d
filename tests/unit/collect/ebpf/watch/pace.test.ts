import { describe, expect, test } from "bun:test";
import { createPace } from "../../../../../src/collect/ebpf/watch/pace.ts";
import { seededRandom } from "../../../../../src/statistics/prng.ts";

const SHORT = { name: "short", mode: "rw", trapLimit: 8, dwellLimitNs: 1e8 } as const;

/** 8 traps and a retarget are 100 us: of 1 % one watch in 10 ms. */
const open = () => createPace({ costs: { trapNs: 10_000, retargetNs: 20_000 }, budgetPct: 1, cpus: 1 }, () => 0);

test("looks put the next watch off by what pays for them, and by half a second at most, however many there are", () => {
  const pace = open();
  pace.armed(SHORT);
  pace.spent(1e6);
  expect([pace.isDue(109e6), pace.isDue(110e6)]).toEqual([false, true]);
  // 160 ms, as reading its graphs took of an engine: 16 s of the whole budget.
  for (let i = 0; i < 1600; i++) pace.spent(1e5);
  expect([pace.isDue(509e6), pace.isDue(510e6)]).toEqual([false, true]);
  pace.armed(SHORT);
  pace.spent(160e6);
  expect([pace.isDue(1019e6), pace.isDue(1020e6)]).toEqual([false, true]);
});

/** Starts watches of 100 ms as soon as each may begin, and gives the share of the time in which there was one. */
function armedShare(copyLoss: number): number {
  const random = seededRandom(1, 1);
  const pace = createPace(
    { costs: { trapNs: 10_000, retargetNs: 20_000 }, budgetPct: 1, cpus: 1, copyLoss: () => copyLoss },
    random,
  );
  let armedMs = 0;
  let endMs = 0;
  for (let ms = 0; ms < 400_000; ms++) {
    if (pace.isDue(1e6 * ms)) {
      pace.armed(SHORT);
      endMs = ms + 100;
    }
    if (ms < endMs) armedMs += 1;
  }
  return armedMs / 400_000;
}

describe("where copies are slow beside watches", () => {
  test("these are on so seldom that the program loses no more than twice the budget, and about as much", () => {
    expect(0.9 * armedShare(0.9)).toBeWithin(0.012, 0.024);
    expect(0.2 * armedShare(0.2)).toBeWithin(0.012, 0.024);
    expect(0.08 * armedShare(0.08)).toBeWithin(0.012, 0.024);
  });

  test("all goes on as if they were not, where the program loses no more than that", () => {
    expect(armedShare(0.019)).toBeGreaterThan(0.9);
    expect(armedShare(0)).toBeGreaterThan(0.9);
  });

  test("the next one is not put off for longer than an eighth of the run behind one that began before copies were seen", () => {
    let copyLoss = 0;
    const costs = { trapNs: 10_000, retargetNs: 20_000 };
    const pace = createPace({ costs, budgetPct: 1, cpus: 1, copyLoss: () => copyLoss }, () => 0);
    while (pace.isDue(800e6)) pace.armed({ ...SHORT, dwellLimitNs: 600e6 });
    copyLoss = 0.5;
    // All of its 600 ms would ask for a rest of 15 s, of which most is still to come.
    let ms = 801;
    while (!pace.isDue(1e6 * ms)) ms += 1;
    expect(ms).toBeWithin(850, 950);
  });

  test("no watch takes longer than an eighth of the time in which there may be one", () => {
    const costs = { trapNs: 10_000, retargetNs: 20_000 };
    const longestOf = (copyLoss: number) =>
      createPace({ costs, budgetPct: 1, cpus: 1, copyLoss: () => copyLoss }, () => 0).longestNs(80e9);
    expect(longestOf(0.4)).toBeWithin(0.5e9, 0.52e9);
    expect(longestOf(0.02)).toBe(Number.POSITIVE_INFINITY);
  });
});
