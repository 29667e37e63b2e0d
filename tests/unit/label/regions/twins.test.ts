import { expect, test } from "bun:test";
import { outlivedTwins } from "../../../../src/label/regions/twins.ts";

const region = (bytes: string, birth_ns: number, death_ns: number) => ({ bytes, birth_ns, death_ns });
const twinsOf = (...regions: readonly Parameters<typeof outlivedTwins>[0][number][]) => [...outlivedTwins(regions)];

test("of two regions with the same bytes at the same time the one that goes first is the twin, whichever came first", () => {
  expect(twinsOf(region("a", 0, 100), region("a", 10, 50))).toEqual([1]);
  expect(twinsOf(region("a", 0, 20), region("a", 10, 100))).toEqual([0]);
  expect(twinsOf(region("a", 0, 100), region("a", 0, 100), region("a", 50, 100))).toEqual([1, 2]);
});

test("regions that follow each other, or hold other bytes, or are of no file, are none", () => {
  expect(twinsOf(region("a", 0, 50), region("a", 50, 100))).toEqual([]);
  expect(twinsOf(region("a", 0, 100), region("b", 0, 100), null, null)).toEqual([]);
  expect(twinsOf(region("a", 0, 50), region("a", 60, 200), region("a", 40, 70))).toEqual([2]);
});
