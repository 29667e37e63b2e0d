import { expect, test } from "bun:test";
import { meanHitNs } from "../../../../src/engine/probing/probe-cost.ts";

const COST = { carried_ns: 1000, stepped_ns: 9000 };

test("the mean cost of hits counts each by whether the processor stepped over it", () => {
  expect(meanHitNs(COST, 4, 0)).toBe(1000);
  expect(meanHitNs(COST, 4, 4)).toBe(9000);
  expect(meanHitNs(COST, 4, 1)).toBe(3000);
});

test("without a hit it is the cost of one that the kernel carries out", () => {
  expect(meanHitNs(COST, 0, 0)).toBe(1000);
});
