/**
 * Quantiles of a value that is known only where the time that it takes was seen to its end: each one that is known stands also
 * for those like it of which the time was cut short (inverse probability of censoring weights: Robins and Rotnitzky 1992;
 * Satten and Datta, The American Statistician 55, 2001).
 */
import type { Resamples } from "./bootstrap.ts";
import { carryingUnits } from "./carrying-units.ts";
import { effectiveSize } from "./clopper-pearson.ts";
import { type Interval, interval } from "./interval.ts";
import { quantileIntervals, type Shares } from "./quantile-inversion.ts";

/** One time, such as that from a write to the next. */
export interface TimedCase {
  /** Index of the unit that is resampled. */
  readonly unit: number;
  readonly weight: number;
  /** How much of the time was seen. */
  readonly seen: number;
  /** True where that is all of it. */
  readonly isWhole: boolean;
  /** What is asked for: known where the time is whole, else what it is at least. */
  readonly value: number;
}

/**
 * What was seen whole stands for fewer than so many like it: of times that few were looked at for, those that were seen to end
 * are not many enough to tell how many would have, and the shares up to them are not told.
 */
const STANDS_FOR_FEWER_THAN = 5;

/** The share of the weight whose value is known to be no more than each, those cut short told by those like them. */
export function sharesOf(cases: readonly TimedCase[]): Shares {
  // By the time seen, whole ones before cut ones; and by value.
  const byTime = Uint32Array.from(cases.keys()).sort((a, b) => {
    const [x, y] = [cases[a], cases[b]];
    if (x === undefined || y === undefined) return 0;
    return x.seen - y.seen || Number(y.isWhole) - Number(x.isWhole);
  });
  const byValue = Uint32Array.from(cases.keys())
    .filter((i) => cases[i]?.isWhole)
    .sort((a, b) => (cases[a]?.value ?? 0) - (cases[b]?.value ?? 0));
  const values: number[] = [];
  const rank = byValue.map((i) => {
    const value = cases[i]?.value ?? Number.NaN;
    if (values.at(-1) !== value) values.push(value);
    return values.length - 1;
  });
  const units = Uint32Array.from(cases, ({ unit }) => unit);
  const weights = Float64Array.from(cases, ({ weight }) => weight);
  const isWhole = Uint8Array.from(cases, (one) => Number(one.isWhole));
  const drawn = new Float64Array(cases.length);
  const mass = new Float64Array(cases.length);
  const walk = (times: Uint16Array | null, places: Uint32Array, out: Float64Array): void => {
    let all = 0;
    for (let i = 0; i < drawn.length; i++) {
      const w = (weights[i] ?? 0) * (times === null ? 1 : (times[units[i] ?? 0] ?? 0));
      drawn[i] = w;
      all += w;
    }
    if (!(all > 0)) {
      out.fill(Number.NaN);
      return;
    }
    mass.fill(0);
    let atRisk = all;
    let uncut = 1;
    for (let k = 0; k < byTime.length; k++) {
      const i = byTime[k] ?? 0;
      const w = drawn[i] ?? 0;
      if (w === 0) continue;
      if (isWhole[i]) mass[i] = w / uncut;
      else uncut *= Math.max(0, 1 - w / atRisk);
      atRisk -= w;
      if (uncut <= 1 / STANDS_FOR_FEWER_THAN) break;
    }
    let sum = 0;
    let next = 0;
    for (let k = 0; k < byValue.length; k++) {
      while (next < places.length && (places[next] ?? 0) < (rank[k] ?? 0)) out[next++] = Math.min(1, sum / all);
      sum += mass[byValue[k] ?? 0] ?? 0;
    }
    out.fill(Math.min(1, sum / all), next);
  };
  const shares = new Float64Array(values.length);
  walk(null, Uint32Array.from(values.keys()), shares);
  const massOf = new Map<number, number>();
  cases.forEach(({ unit }, i) => {
    massOf.set(unit, (massOf.get(unit) ?? 0) + (mass[i] ?? 0));
  });
  const tellers = new Float64Array(values.length).fill(effectiveSize([...massOf.values()]));
  return { values: Float64Array.from(values), shares, tellers, resampled: walk };
}

/** How many units that count alike would carry as much weight as those of the cases. */
export function carryingUnitsOf(cases: readonly TimedCase[]): number {
  const weights = new Map<number, number>();
  for (const { unit, weight } of cases) weights.set(unit, (weights.get(unit) ?? 0) + weight);
  return carryingUnits([...weights.values()]);
}

/**
 * Quantiles with intervals over units by the share up to each value. One that is not reached has a lower end: the quantile where
 * every value that is not known is what it is at least.
 * @param qs in (0, 1)
 * @param undrawn what was not drawn, over all that was, at most
 */
export function quantilesOfCases(
  cases: readonly TimedCase[],
  qs: readonly number[],
  resamples: Resamples,
  undrawn = 0,
): Interval[] {
  if (cases.length === 0) return qs.map(() => interval(null, null, null));
  const carrying = carryingUnitsOf(cases);
  const found = quantileIntervals(sharesOf(cases), qs, resamples, carrying, undrawn);
  if (found.every(({ value, lo }) => value !== null && lo !== null)) return found;
  const seen = sharesOf(cases.map((one) => ({ ...one, isWhole: true })));
  const least = quantileIntervals(seen, qs, resamples, carrying, undrawn);
  return found.map((one, k) => {
    const floor = least[k]?.lo ?? null;
    if (one.value !== null && one.lo !== null) return one;
    return { value: one.value, lo: one.lo ?? floor, hi: one.hi };
  });
}

/** Of the weight: where less than this is known or stood for, there is no value. */
const LEAST_TOLD = 0.98;

/**
 * Quantiles of values that may be short however long it takes to know them: those that nobody tells may all be short. So the lower
 * end takes every value that is not known as what it is at least.
 * @param qs in (0, 1)
 */
export function openQuantiles(cases: readonly TimedCase[], qs: readonly number[], resamples: Resamples): Interval[] {
  if (cases.length === 0) return qs.map(() => interval(null, null, null));
  const carrying = carryingUnitsOf(cases);
  const curve = sharesOf(cases);
  const found = quantileIntervals(curve, qs, resamples, carrying);
  const seen = sharesOf(cases.map((one) => ({ ...one, isWhole: true })));
  const least = quantileIntervals(seen, qs, resamples, carrying);
  const isTold = (curve.shares.at(-1) ?? 0) >= LEAST_TOLD;
  return found.map(({ value, lo, hi }, k) => {
    const floor = least[k]?.lo ?? null;
    return interval(isTold ? value : null, lo === null || floor === null ? floor : Math.min(lo, floor), hi);
  });
}
