import { describe, expect, test } from "bun:test";
import { resample } from "../../../../src/statistics/bootstrap.ts";
import {
  boundedQuantiles,
  pooledSample,
  type UnitTimes,
} from "../../../../src/statistics/survival/recurrent-survival.ts";
import { sharesOf } from "../../../../src/statistics/survival/survival-shares.ts";

const RESAMPLES = resample(new Uint8Array(120), 1, 0, 199);
const repeated = (n: number, times: UnitTimes): UnitTimes[] => Array.from({ length: n }, () => times);
const seen = (time: number): UnitTimes => ({ complete: [time], censored: [] });
const cut = (time: number): UnitTimes => ({ complete: [], censored: [time] });

/** 80 units of which all times are 20, three of four cut at 10; and 40 of which all are 60, seen whole. */
const UNITS = [...repeated(60, cut(10)), ...repeated(20, seen(20)), ...repeated(40, seen(60))];
const LAW = Uint32Array.from(UNITS, (_, i) => (i < 80 ? 0 : 1));
const WEIGHTS = new Float64Array(UNITS.length).fill(1);

describe("times that were looked at by two laws", () => {
  test("are told by those of their own law", () => {
    const { values, shares } = sharesOf(pooledSample(UNITS, WEIGHTS, LAW));
    expect([...values]).toEqual([20, 60]);
    expect(shares[0]).toBeCloseTo(2 / 3);
    expect(shares[1]).toBeCloseTo(1);
    expect(boundedQuantiles(pooledSample(UNITS, WEIGHTS, LAW), [0.5], RESAMPLES)[0]?.value).toBe(20);
  });

  test("as one they would say what those say who were looked at for long", () => {
    expect(boundedQuantiles(pooledSample(UNITS, WEIGHTS), [0.5], RESAMPLES)[0]?.value).toBe(60);
  });

  test("end where too many are left of one of them", () => {
    const units = [...repeated(72, cut(10)), ...repeated(8, seen(20)), ...repeated(40, seen(60))];
    expect([...sharesOf(pooledSample(units, WEIGHTS, LAW), 0.02).values]).toEqual([]);
    const [median] = boundedQuantiles(pooledSample(units, WEIGHTS, LAW), [0.5], RESAMPLES);
    expect(median?.value).toBeNull();
    expect(median?.lo).toBe(10);
  });

  test("go on where little is left of one of them, which may be of any time", () => {
    const units = [...repeated(79, seen(20)), cut(30), ...repeated(40, seen(60))];
    const { values, left } = sharesOf(pooledSample(units, WEIGHTS, LAW), 0.02);
    expect([...values]).toEqual([20, 60]);
    expect(left).toBeCloseTo(1 / 120);
    expect(sharesOf(pooledSample(units, WEIGHTS, LAW)).values.length).toBe(1);
  });
});
