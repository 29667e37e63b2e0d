import { describe, expect, test } from "bun:test";
import type { WatchSample } from "../../../../src/analyse/input/input.ts";
import { rarityOver, watchesPerPiece } from "../../../../src/analyse/watched/arming-density.ts";
import { seededRandom } from "../../../../src/statistics/prng.ts";

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

describe("the watches that tell the density of a piece of the run", () => {
  const random = seededRandom(5);
  const drawn = (n: number, mean: (i: number) => number): number[] =>
    Array.from({ length: n }, (_, i) => mean(i) * (0.2 + 1.6 * random()));

  test("are few where long pauses follow long ones", () => {
    expect(watchesPerPiece(drawn(300, (i) => (i % 30 < 24 ? 1 : 5)))).toBeLessThan(24);
  });

  test("are many where pauses are of any length by chance, or one of them is long", () => {
    for (let i = 0; i < 100; i++) expect(watchesPerPiece(drawn(300, () => (random() < 0.2 ? 5 : 1)))).toBe(24);
    expect(watchesPerPiece(drawn(300, (i) => (i === 100 ? 100 : 1)))).toBe(24);
    expect(watchesPerPiece([])).toBe(24);
  });

  test("stand for the time that they took to begin", () => {
    // Five a second for a second, then 20 a second for a second, by turns.
    const perSecond = (turn: number): number => (turn % 2 === 0 ? 5 : 20);
    const begins = Array.from({ length: 40 }, (_, turn) =>
      Array.from({ length: perSecond(turn) }, (_, i) => turn + i / perSecond(turn)),
    ).flat();
    const rarityAt = rarityOver(watches(begins));
    const sumOf = (isRare: boolean): number =>
      begins
        .filter((begin) => (Math.floor(begin) % 2 === 0) === isRare)
        .reduce((sum, begin) => sum + rarityAt(begin), 0);
    expect(sumOf(true) / (sumOf(true) + sumOf(false))).toBeWithin(0.35, 0.55);
  });
});
