import { describe, expect, test } from "bun:test";
import { blocksNeeded, compareArms, logRatio } from "../../../src/overhead/ab.ts";
import { mirroredOrder } from "../../../src/overhead/arm-order.ts";
import { bcaOfMean, hodgesLehmann } from "../../../src/statistics/block-bootstrap.ts";
import { normalCdf, normalQuantile } from "../../../src/statistics/normal.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { studentCdf, studentQuantile } from "../../../src/statistics/student.ts";

/** Blocks whose arms differ by exactly `pct`, with a little noise that is the same for every call. */
function blocksOf(pct: number, sd = 0.001, n = 12) {
  const random = seededRandom(3);
  return Array.from({ length: n }, () => {
    const noise = () => Math.exp(sd * (random() + random() + random() + random() - 2) * 1.7);
    const on = (1 + pct / 100) * 10;
    return { off: [10 * noise(), 10 * noise()], on: [on * noise(), on * noise()] };
  });
}

describe("the distributions", () => {
  test("agree with published quantiles", () => {
    expect(normalQuantile(0.975)).toBeCloseTo(1.959963984540054, 9);
    expect(normalQuantile(0.05)).toBeCloseTo(-1.6448536269514722, 9);
    expect(normalCdf(-5) / 2.866515718791939e-7).toBeCloseTo(1, 9);
    expect(normalCdf(0)).toBe(0.5);
    expect(studentQuantile(0.975, 1)).toBeCloseTo(12.706204736, 6);
    expect(studentQuantile(0.975, 2)).toBeCloseTo(4.30265273, 6);
    expect(studentQuantile(0.975, 9)).toBeCloseTo(2.262157163, 6);
    expect(studentQuantile(0.95, 10)).toBeCloseTo(1.812461123, 6);
    expect(studentCdf(1, 1)).toBeCloseTo(0.75, 12);
    expect(studentCdf(0, 5.5)).toBe(0.5);
    expect(studentCdf(-1, 1)).toBeCloseTo(0.25, 12);
  });

  test("have tails between those of the whole numbers beside where degrees are none, as units that carry a sum are counted", () => {
    for (let degrees = 1; degrees < 40; degrees++) {
      const [more, fewer] = [studentQuantile(0.975, degrees), studentQuantile(0.975, degrees + 1)];
      for (const part of [0.1, 0.5, 0.9]) {
        const between = studentQuantile(0.975, degrees + part);
        expect(between).toBeLessThan(more);
        expect(between).toBeGreaterThan(fewer);
      }
    }
  });

  test("the seeded source repeats itself, differs between seeds, and is uniform", () => {
    const draws = (seed: number) => {
      const random = seededRandom(seed);
      return Array.from({ length: 20_000 }, () => random());
    };
    expect(draws(7)).toEqual(draws(7));
    expect(draws(7).slice(0, 4)).not.toEqual(draws(8).slice(0, 4));
    expect(draws(2 ** 40 + 7).slice(0, 4)).not.toEqual(draws(7).slice(0, 4));
    const deciles = new Array(10).fill(0);
    for (const x of draws(7)) deciles[Math.floor(x * 10)] += 1;
    const chi2 = deciles.reduce((sum: number, n: number) => sum + (n - 2000) ** 2 / 2000, 0);
    // 99.9 % point of chi-squared with 9 degrees of freedom.
    expect(chi2).toBeLessThan(27.88);
  });
});

describe("the interval", () => {
  test("holds the mean, repeats with its seed, and widens with the level", () => {
    const values = [1, 4, 2, 8, 5, 7, 1, 3];
    const at95 = bcaOfMean(values, { seed: 5 });
    expect(at95).toEqual(bcaOfMean(values, { seed: 5 }));
    expect(at95.value).toBeCloseTo(3.875, 12);
    expect(at95.lo).toBeLessThan(at95.value);
    expect(at95.hi).toBeGreaterThan(at95.value);
    const at80 = bcaOfMean(values, { level: 0.8, seed: 5 });
    expect(at80.hi - at80.lo).toBeLessThan(at95.hi - at95.lo);
  });

  test("is the value itself where all values are equal, and unknown for one value or none", () => {
    expect(bcaOfMean([2, 2, 2])).toEqual({ value: 2, lo: 2, hi: 2 });
    expect(bcaOfMean([2])).toEqual({ value: 2, lo: Number.NaN, hi: Number.NaN });
    expect(bcaOfMean([]).value).toBeNaN();
    expect(bcaOfMean([1, Number.NaN, 2]).lo).toBeNaN();
  });

  test("refuses fewer than 10 000 resamples", () => {
    expect(() => bcaOfMean([1, 2, 3], { resamples: 9999 })).toThrow(RangeError);
  });

  test("Hodges-Lehmann is the median of all pairwise averages, which one wild value cannot move far", () => {
    expect(hodgesLehmann([1, 2, 6])).toBe(2.75);
    expect(hodgesLehmann([1, 2, 3, 4, 1000])).toBeLessThan(5);
    expect(hodgesLehmann([])).toBeNaN();
  });
});

describe("the comparison of two arms", () => {
  test("cancels a drift that is linear in the block", () => {
    const cost = (arm: string, place: number) => Math.log(arm === "on" ? 11 : 10) + 0.03 * place;
    for (const block of mirroredOrder(["off", "on"], 8, 1)) {
      const of = (wanted: string) => block.flatMap((arm, i) => (arm === wanted ? [Math.exp(cost(arm, i))] : []));
      expect(logRatio({ off: of("off"), on: of("on") })).toBeCloseTo(Math.log(1.1), 12);
    }
  });

  test("passes a slowdown shown to be below the margin, fails one shown above, and leaves the rest open", () => {
    expect(compareArms(blocksOf(0.5), 1)).toMatchObject({ verdict: "PASS", blocks: 12, unusable: 0 });
    expect(compareArms(blocksOf(2), 1).verdict).toBe("FAIL");
    expect(compareArms(blocksOf(0.5, 0.05), 1).verdict).toBe("INCONCLUSIVE");
    expect(compareArms(blocksOf(0.5, 0.001, 4), 1).verdict).toBe("INCONCLUSIVE");
    expect(compareArms([], 1).verdict).toBe("INCONCLUSIVE");
  });

  test("finds the slowdown that is there, by both estimators", () => {
    const result = compareArms(blocksOf(3), 5);
    expect(result.slowdown_pct.value).toBeCloseTo(3, 1);
    expect(result.hodges_lehmann_pct).toBeCloseTo(3, 1);
    expect(result.slowdown_pct.lo).toBeLessThanOrEqual(result.lower_bound_pct);
    expect(result.slowdown_pct.hi).toBeGreaterThanOrEqual(result.upper_bound_pct);
  });

  test("counts blocks with a missing or impossible figure and leaves them out", () => {
    const broken = [
      { off: [], on: [1] },
      { off: [1], on: [0] },
      { off: [1], on: [Number.NaN] },
      { off: [-1], on: [1] },
    ];
    expect(compareArms([...blocksOf(0.5), ...broken], 1)).toMatchObject({ blocks: 12, unusable: 4, verdict: "PASS" });
  });

  test("declares the blocks that the formula asks for", () => {
    expect(blocksNeeded(2, 1)).toBe(35);
    expect(blocksNeeded(1, 2)).toBe(3);
    expect(blocksNeeded(2, 2, { expectedPct: 1 })).toBe(35);
    expect(() => blocksNeeded(1, 1, { expectedPct: 1 })).toThrow(RangeError);
  });
});
