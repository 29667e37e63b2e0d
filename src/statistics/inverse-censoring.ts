/**
 * Quantiles of a value that is known only where the time that it takes was seen to its end: each one that is known stands also
 * for those like it of which the time was cut short (inverse probability of censoring weights: Robins and Rotnitzky 1992;
 * Satten and Datta, The American Statistician 55, 2001).
 */
import type { Resamples } from "./bootstrap.ts";
import { carryingUnits } from "./carrying-units.ts";
import { effectiveSize } from "./clopper-pearson.ts";
import { type Interval, interval } from "./interval.ts";
import {
  MOST_LEFT,
  quantileIntervals,
  reaching,
  type Shares,
  STANDS_FOR_FEWER_THAN,
  withLeft,
} from "./quantile-inversion.ts";

/** One time, such as that from a write to the next. */
export interface TimedCase {
  /** Index of the unit that is resampled. */
  readonly unit: number;
  readonly weight: number;
  /** How much of the time was seen. */
  readonly seen: number;
  /** True where that is all of it. */
  readonly isWhole: boolean;
  /** By which law it was looked at, from 0 on, as those like it are of the same law; one where absent. */
  readonly law?: number;
  /** What is asked for: known where the time is whole, else what it is at least. */
  readonly value: number;
}

/**
 * The share of the weight whose value is known to be no more than each, those cut short told by those like them.
 * @param rest what is taken of those of which too few tell: `beyond`, that they are more than any value; `least`, that they are no
 * more than what was seen of them
 * @param mostLeft share of all that may be left untold under laws that end before others: `left` of it is, which may be of any value
 */
export function sharesOf(
  cases: readonly TimedCase[],
  rest: "beyond" | "least" = "beyond",
  mostLeft = 0,
): Shares & { readonly left: number } {
  // Whole ones before cut ones.
  const byTime = Uint32Array.from(cases.keys()).sort((a, b) => {
    const [x, y] = [cases[a], cases[b]];
    if (x === undefined || y === undefined) return 0;
    return x.seen - y.seen || Number(y.isWhole) - Number(x.isWhole);
  });
  const byValue = Uint32Array.from(cases.keys())
    .filter((i) => rest === "least" || cases[i]?.isWhole)
    .sort((a, b) => (cases[a]?.value ?? 0) - (cases[b]?.value ?? 0));
  const units = Uint32Array.from(cases, ({ unit }) => unit);
  const weights = Float64Array.from(cases, ({ weight }) => weight);
  const isWhole = Uint8Array.from(cases, (one) => Number(one.isWhole));
  const laws = Uint32Array.from(cases, ({ law = 0 }) => law);
  const lawCount = laws.reduce((most, law) => Math.max(most, law + 1), 1);
  const drawn = new Float64Array(cases.length);
  const mass = new Float64Array(cases.length);
  /** Fills `mass` with what each case stands for; returns the weight of all, and what is left of the laws that ended before others, over it. */
  const stand = (times: Uint16Array | null): { weight: number; left: number } => {
    const atRisk = new Float64Array(lawCount);
    for (let i = 0; i < drawn.length; i++) {
      const w = (weights[i] ?? 0) * (times === null ? 1 : (times[units[i] ?? 0] ?? 0));
      const law = laws[i] ?? 0;
      drawn[i] = w;
      atRisk[law] = (atRisk[law] ?? 0) + w;
    }
    const all = atRisk.reduce((sum, w) => sum + w, 0);
    mass.fill(0);
    const uncut = new Float64Array(lawCount).fill(1);
    const isGoing = new Uint8Array(lawCount).fill(1);
    let going = lawCount;
    let left = 0;
    let k = 0;
    for (; k < byTime.length; k++) {
      const i = byTime[k] ?? 0;
      // Of those that were not drawn nothing comes but zeros: a third of them, at random, are faster counted than passed over.
      const w = drawn[i] ?? 0;
      const law = laws[i] ?? 0;
      const risk = atRisk[law] ?? 0;
      const stands = uncut[law] ?? 1;
      if (isWhole[i]) mass[i] = w / stands;
      else if (w > 0) {
        const after = stands * (1 - w / risk);
        if (after <= 1 / STANDS_FOR_FEWER_THAN && isGoing[law] === 1) {
          const share = risk / stands / all;
          if (going === 1 || left + share > mostLeft) break;
          isGoing[law] = 0;
          going -= 1;
          left += share;
        }
        if (isGoing[law] === 1) uncut[law] = after;
      }
      atRisk[law] = risk - w;
    }
    if (rest === "least") {
      for (; k < byTime.length; k++) {
        const i = byTime[k] ?? 0;
        mass[i] = (drawn[i] ?? 0) / (uncut[laws[i] ?? 0] ?? 1);
      }
    }
    return { weight: all, left };
  };
  const { weight: all, left } = stand(null);
  const values: number[] = [];
  for (const i of byValue) {
    const { value = Number.NaN } = cases[i] ?? {};
    if ((mass[i] ?? 0) > 0 && values.at(-1) !== value) values.push(value);
  }
  // What a resample alone lets count grows into the next of the values.
  let place = 0;
  const rank = byValue.map((i) => {
    while (place < values.length && (values[place] ?? 0) < (cases[i]?.value ?? 0)) place++;
    return place;
  });
  const sumUp = (weight: number, places: Uint32Array, out: Float64Array): void => {
    let sum = 0;
    let next = 0;
    for (let k = 0; k < byValue.length; k++) {
      while (next < places.length && (places[next] ?? 0) < (rank[k] ?? 0)) out[next++] = Math.min(1, sum / weight);
      sum += mass[byValue[k] ?? 0] ?? 0;
    }
    out.fill(Math.min(1, sum / weight), next);
  };
  const shares = new Float64Array(values.length);
  sumUp(all, Uint32Array.from(values.keys()), shares);
  const massOf = new Map<number, number>();
  cases.forEach(({ unit }, i) => {
    massOf.set(unit, (massOf.get(unit) ?? 0) + (mass[i] ?? 0));
  });
  const tellers = new Float64Array(values.length).fill(effectiveSize([...massOf.values()]));
  const resampled = (times: Uint16Array, places: Uint32Array, out: Float64Array): void => {
    const { weight } = stand(times);
    if (weight > 0) sumUp(weight, places, out);
    else out.fill(Number.NaN);
  };
  return {
    values: Float64Array.from(values),
    shares,
    tellers,
    single_values: effectiveSize(mass),
    left,
    resampled,
  };
}

/** How many units that count alike would carry as much weight as those of the cases. */
export function carryingUnitsOf(cases: readonly TimedCase[]): number {
  const weights = new Map<number, number>();
  for (const { unit, weight } of cases) weights.set(unit, (weights.get(unit) ?? 0) + weight);
  return carryingUnits([...weights.values()]);
}

/** Lower ends where every value that is not known is what it is at least. */
function leastEnds(cases: readonly TimedCase[], qs: readonly number[], resamples: Resamples, undrawn = 0): Interval[] {
  const seen = sharesOf(cases.map((one) => ({ ...one, isWhole: true })));
  return quantileIntervals(seen, qs, resamples, carryingUnitsOf(cases), undrawn);
}

const isReached = ({ value, lo }: Interval): boolean => value !== null && lo !== null;

/** The same quantiles; one that is not reached has the lower end of what was seen of all. */
function withLeast(found: readonly Interval[], least: () => Interval[]): Interval[] {
  if (found.every(isReached)) return [...found];
  const ends = least();
  return found.map(({ value, lo, hi }, k) => ({ value, lo: lo ?? ends[k]?.lo ?? null, hi }));
}

/**
 * Quantiles of times that last until they are known, with intervals over units by the share up to each: what is not known is longer
 * than what was seen of it.
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
  const curve = sharesOf(cases, "beyond", MOST_LEFT);
  const found = quantileIntervals(curve, qs, resamples, carryingUnitsOf(cases), withLeft(undrawn, curve.left));
  return withLeast(found, () => leastEnds(cases, qs, resamples, undrawn));
}

/** What is known of the share up to each value: from where the rest is beyond all of them to where it is no more than what was seen. */
export interface SharesByEnds {
  readonly early: ReturnType<typeof sharesOf>;
  readonly late: ReturnType<typeof sharesOf>;
  /** The mean of both at the values of `early`, among which those of `late` are. */
  readonly mean: Pick<Shares, "values" | "shares">;
  /** Position in `late` of the last value up to that of a position in `early`; -1 where there is none. */
  readonly lateAt: Int32Array;
}

/**
 * Shares of values that are known when something else ends, which may be long after.
 * @param mostLeft as sharesOf has it
 */
export function sharesByEnds(cases: readonly TimedCase[], mostLeft = 0): SharesByEnds {
  const [early, late] = [sharesOf(cases, "least", mostLeft), sharesOf(cases, "beyond", mostLeft)];
  let place = -1;
  const lateAt = Int32Array.from(early.values, (value) => {
    while ((late.values[place + 1] ?? Number.POSITIVE_INFINITY) <= value) place++;
    return place;
  });
  const shares = early.shares.map((share, i) => (share + (late.shares[lateAt[i] ?? -1] ?? 0)) / 2);
  return { early, late, mean: { values: early.values, shares }, lateAt };
}

/**
 * Quantiles of values that are known when something else ends, which may be long after: those of which too few tell are no less than
 * what was seen of them, which is the lower end, and may be more than any, which is the upper. The quantile lies where the mean of both reaches it.
 * @param qs in (0, 1)
 * @param undrawn what was not drawn, over all that was, at most
 */
export function quantilesByEnds(
  cases: readonly TimedCase[],
  qs: readonly number[],
  resamples: Resamples,
  undrawn = 0,
): Interval[] {
  if (cases.length === 0) return qs.map(() => interval(null, null, null));
  const carrying = carryingUnitsOf(cases);
  const { early, late, mean } = sharesByEnds(cases, MOST_LEFT);
  const from = quantileIntervals(early, qs, resamples, carrying, withLeft(undrawn, early.left));
  const found = quantileIntervals(late, qs, resamples, carrying, withLeft(undrawn, late.left)).map(
    ({ value, hi }, k) => ({
      value: value === null ? null : (mean.values[reaching(mean, qs[k] ?? 1)] ?? null),
      lo: from[k]?.lo ?? null,
      hi,
    }),
  );
  return withLeast(found, () => leastEnds(cases, qs, resamples, undrawn));
}

/** Of the weight: where less than this is known or stood for, there is no value. */
const LEAST_TOLD = 0.98;

/**
 * Quantiles of values that may be short however long it takes to know them: those that nobody tells may all be short. So the lower
 * end takes every value that is not known as what it is at least.
 * @param qs in (0, 1)
 * @param undrawn what was not drawn, over all that was, at most
 */
export function openQuantiles(
  cases: readonly TimedCase[],
  qs: readonly number[],
  resamples: Resamples,
  undrawn = 0,
): Interval[] {
  if (cases.length === 0) return qs.map(() => interval(null, null, null));
  const carrying = carryingUnitsOf(cases);
  const curve = sharesOf(cases, "beyond", MOST_LEFT);
  const found = quantileIntervals(curve, qs, resamples, carrying, withLeft(undrawn, curve.left));
  const least = leastEnds(cases, qs, resamples, undrawn);
  const isTold = (curve.shares.at(-1) ?? 0) >= LEAST_TOLD;
  return found.map(({ value, lo, hi }, k) => {
    const floor = least[k]?.lo ?? null;
    return interval(isTold ? value : null, lo === null || floor === null ? floor : Math.min(lo, floor), hi);
  });
}
