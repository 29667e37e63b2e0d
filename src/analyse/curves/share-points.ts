/** Points of an estimated distribution: few enough to be drawn, and with those at which its quantiles lie. */
import type { Resamples } from "../../statistics/bootstrap.ts";
import { carryingUnits } from "../../statistics/carrying-units.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import type { Interval } from "../../statistics/interval.ts";
import type { SharesByEnds } from "../../statistics/inverse-censoring.ts";
import { reaching, type Shares, shareIntervals } from "../../statistics/quantile-inversion.ts";
import type { RecurrentSample } from "../../statistics/survival/product-limit.ts";
import { sharesOf } from "../../statistics/survival/survival-shares.ts";
import type { TimesRoom } from "../watched/counting/arming-echo.ts";
import type { CurvePoint } from "./curve.ts";

/** Quantiles that figures tell: read off the curve they are what the figures say. */
const QUANTILES = [0.5, 0.9, 0.99];
/** Points at even distances of the share, and of the logarithm of the value. */
const BY_SHARE = 48;
const BY_VALUE = 44;

/** Times are as long as they were seen. */
const AS_SEEN: TimesRoom = { least: 1, most: 1 };

/** A share up to a value. */
export interface SharePoint {
  readonly value: number;
  readonly share: Interval;
}

/** What was observed, ascending. */
export interface Observations {
  /** All times as far as they were seen. */
  readonly time: Float64Array;
  /** Of them those that were cut short. */
  readonly cut: Float64Array;
}

/**
 * Positions of at most 97 values, ascending, with the first and the last.
 * @param values ascending
 * @param shares up to each
 */
export function drawnPlaces(values: Float64Array, shares: Float64Array): Uint32Array {
  const last = values.length - 1;
  if (last < 0) return new Uint32Array(0);
  const places = new Set<number>([0, last]);
  const add = (place: number): void => {
    places.add(Math.min(place, last));
  };
  for (const q of QUANTILES) add(reaching({ shares }, q));
  for (let k = 1; k < BY_SHARE; k++) add(reaching({ shares }, ((shares[last] ?? 0) * k) / BY_SHARE));
  const positive = firstIndex(values.length, (i) => (values[i] ?? 0) <= 0);
  const [from, end] = [Math.log(values[positive] ?? 1), Math.log(values[last] ?? 1)];
  for (let k = 1; k < BY_VALUE; k++) {
    const value = Math.exp(from + ((end - from) * k) / BY_VALUE);
    add(firstIndex(values.length, (i) => (values[i] ?? 0) < value));
  }
  return Uint32Array.from(places).sort();
}

/**
 * Points with what was observed beside them, and one at the end of what was seen where the curve goes on level until then.
 * @param falling true for the share above each value, false for that up to it
 * @param until where the curve ends, though some were seen for longer: too few tell what ended behind it
 */
export function curvePoints(
  shares: readonly SharePoint[],
  { time, cut }: Observations,
  falling: boolean,
  until = Number.POSITIVE_INFINITY,
): CurvePoint[] {
  const before = (times: Float64Array, value: number, upTo: boolean): number =>
    firstIndex(times.length, (i) => (upTo ? (times[i] ?? 0) <= value : (times[i] ?? 0) < value));
  const longest = Math.min(until, time.at(-1) ?? 0);
  const end = shares.at(-1) ?? { value: -1, share: { value: 0, lo: null, hi: null } };
  const all = longest > end.value ? [...shares, { value: longest, share: end.share }] : shares;
  let counted = 0;
  return all.map(({ value, share }) => {
    const censored = before(cut, value, true);
    const since = censored - counted;
    counted = censored;
    return {
      x: value,
      ...(falling ? flipped(share) : { y: share.value, lo: share.lo, hi: share.hi }),
      n: time.length - before(time, value, false),
      n_censored: since,
    };
  });
}

/** The share above from the share up to. */
export function flipped({ value, lo, hi }: Interval): Pick<CurvePoint, "y" | "lo" | "hi"> {
  const rest = (share: number | null): number | null => (share === null ? null : 1 - share);
  return { y: rest(value), lo: rest(hi), hi: rest(lo) };
}

/** How an interval of a share is told. */
type Telling = readonly [resamples: Resamples, carrying: number, undrawn: number];

const NOTHING_YET: Interval = { value: 0, lo: 0, hi: 0 };

/** The share up to each of some values; nothing before the first value of the curve. */
function sharesUpTo(curve: Shares, values: readonly number[], telling: Telling): Interval[] {
  const places = values.map((value) => firstIndex(curve.values.length, (i) => (curve.values[i] ?? 0) <= value) - 1);
  const reached = Uint32Array.from(new Set(places.filter((place) => place >= 0)));
  const shares = new Map(shareIntervals(curve, reached, ...telling).map((one, k) => [reached[k] ?? -1, one]));
  return places.map((place) => shares.get(place) ?? NOTHING_YET);
}

/** The upper end of the same; null where nobody can tell it. */
const mostUpTo = (curve: Shares, values: readonly number[], telling: Telling): (number | null)[] =>
  sharesUpTo(curve, values, telling).map(({ hi }) => hi);

/** The larger of two upper ends; null where one of them is not known. */
const farther = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : Math.max(one, other);

/**
 * Points of a distribution of which the rest lies between two ends: the mean of both curves, in the band from the one to the other.
 * @param carrying how many units that count alike would carry as much
 * @param undrawn what was not drawn, over all that was, at most, as the quantiles have it
 * @param shortest of the same values as short as they may be: as many may lie up to each; none where they are as they were seen
 */
export function pointsByEnds(
  { early, late, mean, lateAt }: SharesByEnds,
  observations: Observations,
  resamples: Resamples,
  carrying: number,
  falling: boolean,
  undrawn: number,
  shortest: Shares | null = null,
): CurvePoint[] {
  const places = drawnPlaces(mean.values, mean.shares);
  const above = shareIntervals(early, places, resamples, carrying, undrawn);
  const reached = Uint32Array.from(new Set(Array.from(places, (place) => lateAt[place] ?? -1).filter((i) => i >= 0)));
  const later = shareIntervals(late, reached, resamples, carrying, undrawn);
  const below = new Map(later.map((one, k) => [reached[k] ?? -1, one.lo]));
  const values = Array.from(places, (place) => mean.values[place] ?? 0);
  const short = shortest === null ? null : mostUpTo(shortest, values, [resamples, carrying, undrawn]);
  const points = Array.from(places, (place, k): SharePoint => {
    const lo = below.get(lateAt[place] ?? -1);
    const hi = farther(above[k]?.hi ?? null, short === null ? 0 : (short[k] ?? null));
    const share = { value: mean.shares[place] ?? null, lo: lo === undefined ? 0 : lo, hi };
    return { value: mean.values[place] ?? 0, share };
  });
  return curvePoints(points, observations, falling);
}

/** The observations of a sample. */
export function observationsOf({ time, event }: Pick<RecurrentSample, "time" | "event">): Observations {
  return { time, cut: time.filter((_, i) => event[i] === 0) };
}

/**
 * Points of a sample of times, by its product-limit curve, with the band to which the intervals of its quantiles belong.
 * @param undrawn what was not drawn, over all that was, at most, as the quantiles have it
 * @param shortest the same times as short as they may be: as many may lie up to each; none where they are as they were seen
 * @param room how much shorter and longer than they were seen the times are
 */
export function samplePoints(
  sample: RecurrentSample,
  resamples: Resamples,
  falling: boolean,
  undrawn: number,
  shortest: RecurrentSample | null = null,
  { least, most }: TimesRoom = AS_SEEN,
): CurvePoint[] {
  const shares = sharesOf(sample);
  const places = drawnPlaces(shares.values, shares.shares);
  const telling = [resamples, carryingUnits(sample.unit_weight), undrawn] as const;
  const values = Array.from(places, (place) => shares.values[place] ?? 0);
  const until = Math.min(shares.until, sample.time.at(-1) ?? 0);
  // Where times may be shorter than they were seen the band goes on to rise behind the last value.
  if (least !== 1 && until > (values.at(-1) ?? until)) values.push(until);
  const seen = sharesUpTo(shares, values, telling);
  const early = least === null ? [] : values.map((value) => value / least);
  const above = least === 1 ? seen : sharesUpTo(shares, early, telling);
  const short = shortest === null || least === null ? null : mostUpTo(sharesOf(shortest), early, telling);
  const late = most === null ? [] : values.map((value) => value / most);
  const below = most === 1 ? seen : sharesUpTo(shares, late, telling);
  const points = values.map((value, k): SharePoint => {
    const hi = farther(above[k]?.hi ?? null, short === null ? 0 : (short[k] ?? null));
    // Too few were looked at so long that anybody could tell how many of them are that short.
    const isBehind = least !== 1 && (early[k] ?? 0) > shares.until;
    return {
      value,
      share: {
        value: most === null ? null : (seen[k]?.value ?? null),
        lo: below[k]?.lo ?? null,
        hi: isBehind ? 1 : hi,
      },
    };
  });
  return curvePoints(points, observationsOf(sample), falling, shares.until);
}

/**
 * Points of times, of which nobody can tell how much longer they are.
 * @param why they are bounds
 */
export const withoutLongest = (points: readonly CurvePoint[], falling: boolean, why: string): CurvePoint[] =>
  points.map((point) => ({ ...point, y: null, ...(falling ? { hi: null } : { lo: null }), why }));
