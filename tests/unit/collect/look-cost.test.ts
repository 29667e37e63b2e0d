import { expect, test } from "bun:test";
import { lookCost } from "../../../src/collect/look-cost.ts";

const LOOKS = { what: "looks at maps", count: 100, ns: 5e9, waits: false };

test("a look may have cost one thread as long as it was held, where nobody counts who waits", () => {
  const { count, each_ns } = lookCost(LOOKS);
  expect([count, each_ns]).toEqual([100, { value: 5e7, lo: 0, hi: 5e7 }]);
});

test("looks cost no more than the calls that may have waited for them, each for one look", () => {
  const { count, each_ns } = lookCost(LOOKS, 3);
  expect(count * each_ns.hi).toBeCloseTo(3 * 5e7, 0);
  expect(lookCost(LOOKS, 1000).each_ns.hi).toBe(5e7);
});

test("looks at a process that changes nothing of its map cost it nothing, as at an idle server", () => {
  expect(lookCost(LOOKS, 0).each_ns).toEqual({ value: 0, lo: 0, hi: 0 });
  expect(lookCost({ ...LOOKS, count: 0, ns: 0 }).each_ns.hi).toBe(0);
});
