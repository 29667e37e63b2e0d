import { describe, expect, test } from "bun:test";
import { boundDifference, moverDifference } from "../../../src/statistics/mover.ts";
import { normalQuantile } from "../../../src/statistics/normal.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

describe("the interval of a difference", () => {
  test("is the one of the normal distribution where both intervals are symmetric", () => {
    const a = { value: 10, lo: 7, hi: 13 };
    const b = { value: 20, lo: 16, hi: 24 };
    expect(moverDifference(a, b)).toEqual({ value: 10, lo: 5, hi: 15 });
  });

  test("takes each side from the sides that it rests on where they are skewed", () => {
    const { value, lo, hi } = moverDifference({ value: 1, lo: 0.9, hi: 4 }, { value: 2, lo: 1.6, hi: 2.1 });
    expect(value).toBe(1);
    expect(lo).toBeCloseTo(1 - Math.hypot(0.4, 3), 12);
    expect(hi).toBeCloseTo(1 + Math.hypot(0.1, 0.1), 12);
  });

  test("has no end where an end that it rests on is not known", () => {
    expect(moverDifference({ value: 1, lo: 0, hi: null }, { value: 2, lo: 1, hi: 3 })).toEqual({
      value: 1,
      lo: null,
      hi: 1 + Math.SQRT2,
    });
  });

  test("of bounds is the farthest that both allow", () => {
    expect(boundDifference({ lo: null, hi: 2 }, { lo: 5, hi: 9 })).toEqual({ lo: 3, hi: null });
  });

  test("holds the true difference of two means in 95 % of 4000 drawn pairs", () => {
    const random = seededRandom(99);
    const normal = (): number => normalQuantile(Math.min(Math.max(random(), 1e-12), 1 - 1e-12));
    let held = 0;
    for (let i = 0; i < 4000; i++) {
      const side = (mean: number, sd: number) => {
        const value = mean + sd * normal();
        return { value, lo: value - 1.96 * sd, hi: value + 1.96 * sd };
      };
      const { lo, hi } = moverDifference(side(3, 1), side(5, 0.3));
      if ((lo ?? 0) <= 2 && 2 <= (hi ?? 0)) held += 1;
    }
    // Three standard errors of a share of 0.95 in 4000.
    expect(Math.abs(held / 4000 - 0.95)).toBeLessThan(3 * Math.sqrt((0.95 * 0.05) / 4000));
  });
});
