import { describe, expect, test } from "bun:test";
import { resample } from "../../../src/statistics/bootstrap.ts";
import {
  boundedQuantiles,
  recurrentQuantiles,
  recurrentSample,
  survivalAt,
} from "../../../src/statistics/survival/recurrent-survival.ts";

/** Remission times of the 6-MP arm of Freireich et al. (Blood 21, 1963), as in Kalbfleisch and Prentice, table 1.1. */
const REMISSION = Float64Array.from([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]);
const RELAPSE = Uint8Array.from([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]);

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
    const published = { 6: 0.8571, 7: 0.8067, 10: 0.7529, 13: 0.6902, 16: 0.6275, 22: 0.5378, 23: 0.4482 };
    for (const [at, s] of Object.entries(published)) expect(survivalAt(sample, Number(at))).toBeCloseTo(s, 4);
    expect(sample.n_censored).toBe(12);
    expect(sample.censored).toBeCloseTo(12 / 21, 12);
  });

  test("leave no value but a lower end where all are censored", () => {
    const units = Array.from({ length: 40 }, (_, i) => ({ complete: [], censored: [100 + i] }));
    const sample = recurrentSample(units, new Array<number>(40).fill(1));
    const estimates = boundedQuantiles(sample, [0.5], resample(new Uint8Array(40), 1));
    expect(estimates[0]?.value).toBeNull();
    expect(estimates[0]?.lo ?? 0).toBeGreaterThanOrEqual(110);
    expect(estimates[0]?.lo ?? 0).toBeLessThanOrEqual(120);
    expect(estimates[0]?.hi).toBeNull();
  });
});
