import { expect, test } from "bun:test";
import { createPace } from "../../../../../src/collect/ebpf/watch/pace.ts";

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
