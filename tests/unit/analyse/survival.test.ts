import { describe, expect, test } from "bun:test";
import { resample } from "../../../src/analyse/bootstrap.ts";
import { kaplanMeier, survivalInterval, survivalQuantile } from "../../../src/analyse/kaplan-meier.ts";
import {
  boundedQuantiles,
  openInterval,
  recurrentMean,
  recurrentQuantiles,
  recurrentSample,
  survivalAt,
} from "../../../src/analyse/recurrent-survival.ts";

/** Remission times of the 6-MP arm of Freireich et al. (Blood 21, 1963), as in Kalbfleisch and Prentice, table 1.1. */
const REMISSION = Float64Array.from([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]);
const RELAPSE = Uint8Array.from([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);

describe("the product-limit curve", () => {
  const curve = kaplanMeier(REMISSION, RELAPSE);

  test("is the published curve of the 6-MP trial", () => {
    expect([...curve.time]).toEqual([6, 7, 10, 13, 16, 22, 23]);
    const published = [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482];
    const greenwood = [0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346];
    published.forEach((s, i) => {
      expect(curve.survival[i] ?? 0).toBeCloseTo(s, 4);
      expect((curve.survival[i] ?? 0) * Math.sqrt(curve.logVariance[i] ?? 0)).toBeCloseTo(greenwood[i] ?? 0, 4);
    });
    expect(curve.events).toBe(9);
    expect(curve.followed).toBe(35);
  });

  test("has the log-log band of lifelines 0.30.3", () => {
    const lower = [0.619718, 0.563147, 0.5032, 0.43161, 0.367511, 0.267779, 0.188052];
    const upper = [0.951552, 0.922809, 0.889362, 0.849066, 0.804912, 0.746791, 0.680143];
    lower.forEach((lo, i) => {
      expect(survivalInterval(curve, i).lo ?? 0).toBeCloseTo(lo, 5);
      expect(survivalInterval(curve, i).hi ?? 0).toBeCloseTo(upper[i] ?? 0, 5);
    });
  });

  test("has the median 23 with 13 below it and no upper end", () => {
    expect(survivalQuantile(curve, 0.5)).toEqual({ value: 23, lo: 13, hi: null });
  });

  test("gives a quantile that it does not reach no value, but a lower end", () => {
    const found = survivalQuantile(curve, 0.9);
    expect(found.value).toBeNull();
    expect(found.lo).toBe(35);
    expect(survivalQuantile(kaplanMeier(new Float64Array(0), new Uint8Array(0)), 0.5).lo).toBeNull();
  });

  test("with entry times is the left-truncated curve of lifelines 0.30.3", () => {
    const exit = Float64Array.from([3, 5, 5, 8, 9, 12, 14, 15, 15, 20]);
    const event = Uint8Array.from([1, 1, 0, 1, 1, 0, 1, 1, 1, 0]);
    const entry = Float64Array.from([0, 0, 2, 4, 0, 6, 3, 10, 1, 11]);
    const truncated = kaplanMeier(exit, event, entry);
    expect([...truncated.time]).toEqual([3, 5, 8, 9, 14, 15]);
    const expected = [0.8, 2 / 3, 8 / 15, 0.4, 0.3, 0.1];
    expected.forEach((s, i) => {
      expect(truncated.survival[i] ?? 0).toBeCloseTo(s, 12);
    });
  });

  test("without censoring is the empirical distribution", () => {
    const times = Float64Array.from({ length: 100 }, (_, i) => i + 1);
    const empirical = kaplanMeier(times, new Uint8Array(100).fill(1));
    expect(empirical.survival[29] ?? 0).toBeCloseTo(0.7, 12);
    expect(survivalQuantile(empirical, 0.5).value).toBe(50);
  });
});

describe("times that repeat within a unit", () => {
  const one = (values: number[]): { complete: number[]; censored: number[] } => ({ complete: values, censored: [] });

  test("weigh by unit, not by how many times it shows", () => {
    const units = [one(new Array<number>(100).fill(1)), one([10]), one([10])];
    const sample = recurrentSample(units, [1, 1, 1]);
    expect(recurrentQuantiles(sample, [0.3, 0.5], [])[0]?.value).toBe(1);
    expect(recurrentQuantiles(sample, [0.3, 0.5], [])[1]?.value).toBe(10);
  });

  test("are the plain product-limit curve when each unit shows one", () => {
    const units = [...REMISSION].map((t, i) => (RELAPSE[i] ? one([t]) : { complete: [], censored: [t] }));
    const sample = recurrentSample(units, new Array<number>(21).fill(3));
    expect(recurrentQuantiles(sample, [0.5], [])[0]?.value).toBe(23);
    expect(survivalAt(sample, 13)).toBeCloseTo(0.6902, 4);
    expect(sample.n_censored).toBe(12);
    expect(sample.censored).toBeCloseTo(12 / 21, 12);
  });

  test("keep an open interval only where the unit has no complete one", () => {
    expect(openInterval([], 5)).toEqual([5]);
    expect(openInterval([3], 5)).toEqual([]);
    expect(openInterval([], Number.NaN)).toEqual([]);
  });

  test("leave no value but a lower end where all are censored", () => {
    const units = Array.from({ length: 40 }, (_, i) => ({ complete: [], censored: [100 + i] }));
    const { estimates } = boundedQuantiles(
      units,
      new Array<number>(40).fill(1),
      [0.5],
      resample(new Uint8Array(40), 1),
    );
    expect(estimates[0]?.value).toBeNull();
    expect(estimates[0]?.lo ?? 0).toBeGreaterThanOrEqual(110);
    expect(estimates[0]?.lo ?? 0).toBeLessThanOrEqual(120);
    expect(estimates[0]?.hi).toBeNull();
  });

  test("have the mean of the complete ones, and the tail that censoring hides", () => {
    const full = recurrentMean(recurrentSample([one([2]), one([4]), one([6])], [1, 1, 1]), []);
    expect(full.mean.value).toBeCloseTo(4, 12);
    expect(full.tail).toBe(0);
    const cut = recurrentMean(recurrentSample([one([2]), { complete: [], censored: [8] }], [1, 1]), []);
    expect(cut.mean.value).toBeCloseTo(5, 12);
    expect(cut.tail).toBeCloseTo(0.5, 12);
  });
});
