import { expect, test } from "bun:test";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { rarityOver } from "../../../../src/analyse/watched/arming-density.ts";

const watches = (begins: readonly number[]): WatchSample[] =>
  begins.map((begin_ns) => ({ begin_ns }) as unknown as WatchSample);

test("a watch of the half that was looked at twice as densely stands for half", () => {
  const dense = Array.from({ length: 800 }, (_, i) => i / 800);
  const sparse = Array.from({ length: 400 }, (_, i) => 1 + i / 399);
  const rarityAt = rarityOver(watches([...dense, ...sparse]));
  const sum = (begins: readonly number[]): number => begins.reduce((total, begin) => total + rarityAt(begin), 0);
  expect(sum(dense) / sum(sparse)).toBeCloseTo(1, 1);
});

test("few watches are taken for even ones", () => {
  expect(rarityOver(watches([0, 0, 0, 5]))(0)).toBe(1);
  expect(rarityOver([])(3)).toBe(1);
});
