import { expect, test } from "bun:test";
import { processNumbers } from "../../../src/scrub/process-numbers.ts";

test("processes count from 1, in the order of their old numbers", () => {
  const numbers = processNumbers();
  for (const pid of [70_000, 31, 64, 4_000_000, 32, 31]) numbers.add(pid);
  expect([31, 32, 64, 70_000, 4_000_000].map(numbers.renumbered)).toEqual([1, 2, 3, 4, 5]);
});

test("nobody's number stays, and what no kernel gives is told by none", () => {
  const numbers = processNumbers();
  for (const pid of [0, 5, 0xffff_ffff]) numbers.add(pid);
  expect(numbers.renumbered(0)).toBe(0);
  expect(numbers.renumbered(5)).toBe(1);
  expect(numbers.renumbered(0xffff_ffff)).toBe(2 ** 22);
});
