/**
 * Quantiles of a value that is known only where the time that it takes was seen to its end: each one that is known stands also
 * for those like it of which the time was cut short (inverse probability of censoring weights: Robins and Rotnitzky 1992;
 * Satten and Datta, The American Statistician 55, 2001).
 */
import { percentileInterval, type Resamples } from "./bootstrap.ts";
import { effectiveSize } from "./clopper-pearson.ts";
import { expandedLevel } from "./expanded-tail.ts";
import { CI_LEVEL, type Interval, interval } from "./interval.ts";

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

interface Ordered {
  readonly cases: readonly TimedCase[];
  /** Order by the time seen, whole ones before cut ones; and order by value. */
  readonly byTime: Uint32Array;
  readonly byValue: Uint32Array;
}

function ordered(cases: readonly TimedCase[]): Ordered {
  const byTime = Uint32Array.from(cases.keys()).sort((a, b) => {
    const [x, y] = [cases[a], cases[b]];
    if (x === undefined || y === undefined) return 0;
    return x.seen - y.seen || Number(y.isWhole) - Number(x.isWhole);
  });
  const byValue = Uint32Array.from(cases.keys()).sort((a, b) => (cases[a]?.value ?? 0) - (cases[b]?.value ?? 0));
  return { cases, byTime, byValue };
}

/** Fills `out` with the quantiles; Infinity where the times that were seen whole do not reach so far. */
function quantiles(list: Ordered, times: Uint16Array | null, qs: readonly number[], out: Float64Array): void {
  const { cases, byTime, byValue } = list;
  const mass = new Float64Array(cases.length);
  const weightOf = ({ unit, weight }: TimedCase): number => weight * (times === null ? 1 : (times[unit] ?? 0));
  let all = 0;
  for (const one of cases) all += weightOf(one);
  out.fill(all > 0 ? Number.POSITIVE_INFINITY : Number.NaN);
  let atRisk = all;
  let uncut = 1;
  for (const i of byTime) {
    const one = cases[i];
    if (one === undefined) continue;
    const w = weightOf(one);
    if (w === 0) continue;
    if (one.isWhole) mass[i] = w / uncut;
    else uncut *= Math.max(0, 1 - w / atRisk);
    atRisk -= w;
    if (uncut <= 1e-9) break;
  }
  let sum = 0;
  let next = 0;
  for (const i of byValue) {
    sum += mass[i] ?? 0;
    while (next < qs.length && sum >= (qs[next] ?? 1) * all * (1 - 1e-9)) out[next++] = cases[i]?.value ?? Number.NaN;
  }
}

/** How many units that count alike would carry as much weight as those of the cases. */
export function carryingUnitsOf(cases: readonly TimedCase[]): number {
  const weights = new Map<number, number>();
  for (const { unit, weight } of cases) weights.set(unit, (weights.get(unit) ?? 0) + weight);
  return effectiveSize([...weights.values()]);
}

/**
 * Quantiles with percentile-bootstrap intervals over units. One that is not reached has a lower end: the quantile where every
 * value that is not known is what it is at least.
 * @param qs ascending, in (0, 1)
 */
export function quantilesOfCases(cases: readonly TimedCase[], qs: readonly number[], resamples: Resamples): Interval[] {
  if (cases.length === 0) return qs.map(() => interval(null, null, null));
  const estimate = (list: Ordered): Interval[] => {
    const point = new Float64Array(qs.length);
    quantiles(list, null, qs, point);
    const out = new Float64Array(qs.length);
    const replicates = qs.map(() => new Float64Array(resamples.length));
    resamples.forEach((times, r) => {
      quantiles(list, times, qs, out);
      replicates.forEach((column, k) => {
        column[r] = out[k] ?? Number.NaN;
      });
    });
    const level = expandedLevel(CI_LEVEL, carryingUnitsOf(list.cases));
    return replicates.map((column, k) => percentileInterval(point[k] ?? Number.NaN, column, level));
  };
  const found = estimate(ordered(cases));
  if (found.every(({ value, lo }) => value !== null && lo !== null)) return found;
  const least = estimate(ordered(cases.map((one) => ({ ...one, isWhole: true }))));
  return found.map((one, k) => {
    const floor = least[k]?.lo ?? null;
    if (one.value !== null && one.lo !== null) return one;
    return { value: one.value, lo: one.lo ?? floor, hi: one.hi };
  });
}
