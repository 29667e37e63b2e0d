import { describe, expect, test } from "bun:test";
import { resample } from "../../../src/statistics/bootstrap.ts";
import {
  openQuantiles,
  quantilesByEnds,
  quantilesOfCases,
  type TimedCase,
} from "../../../src/statistics/inverse-censoring.ts";

/** The median of so many cases cut at 10, and so many seen whole at 20. */
function medianOf(cut: number, whole: number) {
  const cases = Array.from({ length: cut + whole }, (_, unit): TimedCase => {
    const isWhole = unit >= cut;
    const time = isWhole ? 20 : 10;
    return { unit, weight: 1, seen: time, isWhole, value: time };
  });
  return quantilesOfCases(cases, [0.5], resample(new Uint8Array(cut + whole), 1, 0, 199))[0];
}

describe("a case that was seen whole", () => {
  test("stands for those like it that were cut", () => {
    expect(medianOf(60, 40)?.value).toBe(20);
  });

  test("tells nothing where it would stand for five or more, and what was seen of all is a lower end", () => {
    expect(medianOf(90, 10)).toEqual({ value: null, lo: 10, hi: null });
  });
});

describe("cases that were looked at by two laws", () => {
  const RESAMPLES = resample(new Uint8Array(120), 1, 0, 199);
  /** Under the first law so many are cut at 10 and the others seen whole at 20, under the second 40 are seen whole at 60. */
  const cases = (cut: number, isTwo: boolean) =>
    Array.from({ length: 120 }, (_, unit): TimedCase => {
      const isWhole = unit >= cut;
      const time = unit >= 80 ? 60 : isWhole ? 20 : 10;
      return { unit, weight: 1, law: isTwo && unit >= 80 ? 1 : 0, seen: time, isWhole, value: time };
    });

  test("stand for those of their own law", () => {
    expect(quantilesOfCases(cases(60, true), [0.5], RESAMPLES)[0]?.value).toBe(20);
    expect(quantilesOfCases(cases(60, false), [0.5], RESAMPLES)[0]?.value).toBe(60);
  });

  test("tell nothing where those of one law would stand for five or more", () => {
    expect(quantilesOfCases(cases(72, true), [0.5], RESAMPLES)[0]).toEqual({ value: null, lo: 10, hi: null });
  });
});

describe("values that may be short however long it takes to know them", () => {
  const RESAMPLES = resample(new Uint8Array(100), 1, 0, 199);
  /** So many cases of which nothing is known when they are cut at 10, and the others, of which the value is 4, seen whole at `seen`. */
  const cases = (cut: number, seen: number) =>
    Array.from({ length: 100 }, (_, unit): TimedCase => {
      const isWhole = unit >= cut;
      return { unit, weight: 1, seen: isWhole ? seen : 10, isWhole, value: isWhole ? 4 : 0 };
    });

  test("have a quantile where next to all of them are known", () => {
    expect(openQuantiles(cases(1, 8), [0.5], RESAMPLES)[0]).toEqual({ value: 4, lo: 4, hi: 4 });
  });

  test("have none where some are not, which may be all the shorter", () => {
    expect(openQuantiles(cases(70, 8), [0.5], RESAMPLES)[0]).toMatchObject({ value: null, lo: 0 });
    expect(openQuantiles(cases(70, 8), [0.95], RESAMPLES)[0]).toMatchObject({ value: null, lo: 4 });
  });

  test("are told of by those like them, the lower end apart", () => {
    expect(openQuantiles(cases(70, 20), [0.5], RESAMPLES)[0]).toMatchObject({ value: 4, lo: 0, hi: 4 });
  });
});

describe("values that are known when something else ends", () => {
  const RESAMPLES = resample(new Uint8Array(1000), 1, 0, 199);
  /** Half of the cases end at 20, with values of 1 to 10; the others are too long to be seen whole, and of these the value was 2 when they were cut. */
  const cases = Array.from({ length: 1000 }, (_, unit): TimedCase => {
    const isWhole = unit % 2 === 0;
    return { unit, weight: 1, seen: isWhole ? 20 : 30, isWhole, value: isWhole ? 1 + ((unit / 2) % 10) : 2 };
  });

  test("have no value beyond what is known, and of the rest none that is less than what was seen of it", () => {
    const [tenth, ninth] = quantilesByEnds(cases, [0.04, 0.9], RESAMPLES);
    expect(tenth).toMatchObject({ value: 1, lo: 1 });
    expect(ninth).toMatchObject({ value: null, hi: null });
  });

  test("have quantiles that may be as small as if the rest were no more than that, and lie between", () => {
    const [third] = quantilesByEnds(cases, [0.3], RESAMPLES);
    // Known alone: 6 of 10; with all others at 2: 2.
    expect(third?.lo).toBe(2);
    expect(third?.value).toBe(2);
    expect(third?.hi).toBeWithin(6, 9);
    // The time itself would be longer where it is not known.
    const times = cases.map((one) => ({ ...one, value: one.seen }));
    expect(quantilesOfCases(times, [0.3], RESAMPLES)[0]).toEqual({ value: 20, lo: 20, hi: 20 });
  });
});

test("a quantile has no upper end where the few heavy units that were seen lie before it, though resampling in strata tells no spread", () => {
  const heavy = Array.from({ length: 14 }, (_, i) => ({
    ...{ unit: i, weight: (0.94 / 14) * (1 + i / 100), seen: 20, isWhole: true, value: i },
  }));
  const light = Array.from({ length: 63 }, (_, i) => ({
    ...{ unit: 14 + i, weight: 0.06 / 63, seen: 100, isWhole: false, value: 0 },
  }));
  const strata = Uint8Array.from({ length: 77 }, (_, i) => Number(i >= 14));
  const [found] = openQuantiles([...heavy, ...light], [0.9], resample(strata, 1, 0, 199));
  // None of 14 lies beyond, as may be where 23 % of such values do: with the light ones that is less than the quantile.
  expect([found?.value, found?.hi]).toEqual([null, null]);
});
