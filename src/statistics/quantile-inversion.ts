/**
 * Intervals of quantiles by the share of the values up to each candidate: a value is inside where q may be the share up to it
 * (R. Woodruff, JASA 47, 1952; of weighted and clustered values: Korn and Graubard, Survey Methodology 24, 1998). A bootstrap of the
 * quantile itself takes the spread that the share has at the far end, which is less than at q: its upper ends are too near.
 */
import type { Resamples } from "./bootstrap.ts";
import { excessSkewness, fartherBy } from "./excess-skewness.ts";
import { incompleteBeta, inverseIncompleteBeta } from "./incomplete-beta.ts";
import { CI_LEVEL, CI_Z, type Interval, interval } from "./interval.ts";
import { normalCdf, normalQuantile } from "./normal.ts";
import { studentQuantile } from "./student.ts";

/**
 * What was seen whole stands for fewer than so many like it: of times that few were looked at for, those that were seen to end
 * are not many enough to tell how many would have, and the shares up to them are not told.
 */
export const STANDS_FOR_FEWER_THAN = 5;

/** Of what is looked at by several laws: so much may be left where one ends before another does. It may be of any time. */
export const MOST_LEFT = 0.02;

/** What was not drawn over what was, where a share of this is untold too. */
export const withLeft = (undrawn: number, left: number): number => (1 + undrawn) / (1 - left) - 1;

/** A distribution that is estimated from units, at the values where it grows. */
export interface Shares {
  /** Ascending, each once. */
  readonly values: Float64Array;
  /** Estimated share of what is up to each value, ascending in [0, 1]; below 1 at the end where the rest is not curve. */
  readonly shares: Float64Array;
  /** How many units that count alike would tell as much of the share up to each value. */
  readonly tellers: Float64Array;
  /** How many values that count alike would have as much of the whole; absent where units have a stretch of values each. */
  readonly single_values?: number;
  /**
   * Fills `out` with the shares of a resample, NaN where it has no weight.
   * @param places positions in `values`, ascending
   */
  resampled(times: Uint16Array, places: Uint32Array, out: Float64Array): void;
}

/** Candidates within so many spreads of the carrying units to either side of q, and over the whole. */
const NEAR = 128;
const SPREADS = 4;
const FAR = 64;
/** More independent values than this say no more. */
const MOST_EFFECTIVE = 1e5;
const WHOLE = 1 - 1e-9;
/** Far finer than anybody sees; a band has many ends. */
const BAND_PRECISION = 1e-6;
/** Fewer units tell nothing of a value: it may be the quantile. */
const FEWEST_TELLERS = 8;
/** Runs of which fewer have an upper end, or none, than one in so many are not told apart from those that are fewer still. */
const RAREST = 30;
/** Variance of a share that no resample tells, in squares of what one value has. */
const HALF_A_VALUE = 0.5;
/** A variance of shares that is rounding. */
const NO_SPREAD = 1e-18;
/** A chance that is less is no less in numbers of this size. */
const LEAST_CHANCE = 1e-15;

/** First position with a share of `level` or more; the length where there is none. */
export function reaching({ shares }: Pick<Shares, "shares">, level: number): number {
  let low = 0;
  let high = shares.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((shares[middle] ?? 0) < level - 1e-9) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Positions of the values whose share may be q: many near it, and some over the whole, as few may be known so far out. */
function candidates(curve: Shares, q: number, carrying: number): number[] {
  const middle = Math.asin(Math.sqrt(q));
  const reach = SPREADS / (2 * Math.sqrt(Math.max(1, carrying)));
  const out = new Set<number>();
  const add = (from: number, upTo: number, count: number): void => {
    for (let k = 0; k <= count; k++) {
      const angle = Math.min(Math.PI / 2, Math.max(0, from + ((upTo - from) * k) / count));
      // What is not reached ends the list: the last value that is curve.
      const place = Math.min(reaching(curve, Math.sin(angle) ** 2), curve.values.length - 1);
      if (place >= 0) out.add(place);
    }
  };
  add(middle - reach, middle + reach, NEAR);
  add(0, Math.PI / 2, FAR);
  return [...out];
}

/**
 * Variance over the resamples of the shares at the positions, and the shares themselves at some of them: to walk over a curve for
 * each resample is most of the work of a quantile.
 * @param kept of `places` those whose shares are kept
 */
function spreadsOf(
  curve: Shares,
  places: Uint32Array,
  resamples: Resamples,
  kept: Uint32Array,
): { readonly spread: Float64Array; readonly tails: Tails[] } {
  const sum = new Float64Array(places.length);
  const squares = new Float64Array(places.length);
  const out = new Float64Array(places.length);
  const columns = Array.from(kept, (position) => places.indexOf(position));
  const replicates = columns.map(() => new Float64Array(resamples.length));
  let used = 0;
  for (const [r, times] of resamples.entries()) {
    curve.resampled(times, places, out);
    for (let k = 0; k < columns.length; k++) (replicates[k] as Float64Array)[r] = out[columns[k] ?? 0] ?? Number.NaN;
    if (Number.isNaN(out[0] ?? Number.NaN)) continue;
    used += 1;
    for (let k = 0; k < places.length; k++) {
      const off = (out[k] ?? 0) - (curve.shares[places[k] ?? 0] ?? 0);
      sum[k] = (sum[k] ?? 0) + off;
      squares[k] = (squares[k] ?? 0) + off * off;
    }
  }
  const spread = squares.map((square, k) =>
    used > 1 ? (square - (sum[k] ?? 0) ** 2 / used) / (used - 1) : Number.NaN,
  );
  return { spread, tails: replicates.map((shares) => tailsOf(shares, resamples)) };
}

/** Student's quantile by degrees of freedom: every position of every curve asks for one. */
const quantileOfT = new Map<number, number>();

/** Few units tell their own spread badly, and too little of it: the share of their number that stands for Student's tails. */
function trust(units: number): number {
  const degrees = Math.max(1, Math.round(units) - 1);
  const t = quantileOfT.get(degrees) ?? studentQuantile((1 + CI_LEVEL) / 2, degrees);
  quantileOfT.set(degrees, t);
  return ((CI_Z / t) ** 2 * (units - 1)) / units;
}

/** Chance that the share is less, and that it is more, than the ends of its interval. */
interface Tails {
  readonly less: number;
  readonly more: number;
}

/** Tails of a share that was resampled: half of what the level leaves, less on the side where heavy units may be missing. */
function tailsOf(shares: Float64Array, resamples: Resamples): Tails {
  const skewness = excessSkewness(shares, resamples);
  return { less: normalCdf(-CI_Z - fartherBy(-skewness)), more: normalCdf(-CI_Z - fartherBy(skewness)) };
}

/**
 * The number of independent values that would tell as much of the share up to a position: with it the share has Jeffreys' posterior.
 * Null where too few units tell anything of it.
 * @param until the position up to whose value units have to have been looked at
 */
function sizeOf(curve: Shares, position: number, variance: number, carrying: number, until = position): number | null {
  const share = curve.shares[position] ?? 0;
  const units = Math.min(carrying, curve.tellers[until] ?? 0);
  if (units < FEWEST_TELLERS) return null;
  const spread = share * (1 - share);
  // Where all values of a stratum lie up to there resampling tells no spread: the next may not, as half a value more by Jeffreys' prior.
  const most = Math.max(units, (spread * (curve.single_values ?? Number.POSITIVE_INFINITY) ** 2) / HALF_A_VALUE);
  const effective = share < WHOLE && variance > 0 ? Math.min(most, spread / variance) : units;
  return Math.min(MOST_EFFECTIVE, effective * trust(units));
}

/**
 * The interval of the share up to each position: the levels q whose quantile may lie there by `quantileIntervals`, so that the
 * band crosses a level where the interval of its quantile ends, but near the end of a curve of which the rest is not told, where quantiles
 * have farther ends or none. An interval has no ends where too few units tell of it.
 * @param places positions in `curve.values`, ascending
 * @param carrying how many units that count alike would carry as much
 * @param undrawn what was not drawn, over all that was, at most: it may lie up to any value or beyond it
 */
export function shareIntervals(
  curve: Shares,
  places: Uint32Array,
  resamples: Resamples,
  carrying: number,
  undrawn = 0,
): Interval[] {
  const { spread, tails } = spreadsOf(curve, places, resamples, places);
  return Array.from(places, (position, k) => {
    const share = curve.shares[position] ?? 0;
    const size = sizeOf(curve, position, spread[k] ?? 0, carrying);
    if (size === null) return interval(share, null, null);
    const end = (p: number): number =>
      inverseIncompleteBeta(share * size + 0.5, (1 - share) * size + 0.5, p, BAND_PRECISION);
    const { less = 0, more = 0 } = tails[k] ?? {};
    return interval(share, end(less) / (1 + undrawn), 1 - (1 - end(1 - more)) / (1 + undrawn));
  });
}

/** How many spreads the share lies above q, where this is the chance that it is below. */
const spreadsAbove = (chance: number): number =>
  normalQuantile(Math.min(1 - LEAST_CHANCE, Math.max(LEAST_CHANCE, 1 - chance)));

/** The tails of one quantile at each value that may be it. */
interface TailsByChance {
  /** Chance that the share up to a value is below q -> the most of it at which the value lies above the interval. */
  above(chance: number): number;
  /** The same -> the most chance that it is q or more at which the value lies before the interval. */
  before(chance: number): number;
}

/**
 * Where the rest of a curve is not told, chance decides whether it reaches q by enough for an upper end: those runs have one in which
 * the shares came out too large, and their ends are the too near ones; of the others the lower ends are the too far ones. If a value is
 * the quantile, so many of the runs have an upper end as chance carries the end of the curve so far. Of these, and of the others, not
 * of all runs, no more than the tail may be wrong (inference after selection: W. Fithian, D. Sun and J. Taylor, arXiv 1410.2597).
 * @param atEnd chance that the share up to the last value is below q
 */
function tailsOfOpen({ less, more }: Tails, atEnd: number): TailsByChance {
  const reach = spreadsAbove(atEnd);
  const needed = spreadsAbove(less / RAREST);
  /** Share of the runs that have an upper end, if the share up to a value of this chance is q. */
  const withEnd = (chance: number): number => 1 - normalCdf(needed - (reach - spreadsAbove(chance)));
  const least = 1 / RAREST;
  const isTold = atEnd <= less / RAREST;
  return {
    above: (chance) => less * Math.max(least, withEnd(chance)),
    before: (chance) => (isTold ? more : more * Math.max(least, 1 - withEnd(chance))),
  };
}

/**
 * One interval per q. An end is null where no value that was seen can be it; the value is null where the share does not reach q, and
 * where what was not drawn leaves it neither end.
 * @param qs in (0, 1)
 * @param carrying how many units that count alike would carry as much
 * @param undrawn what was not drawn, over all that was, at most: it may lie up to any value or beyond it
 */
export function quantileIntervals(
  curve: Shares,
  qs: readonly number[],
  resamples: Resamples,
  carrying: number,
  undrawn = 0,
): Interval[] {
  // The share of what was drawn where that of all is q, if all that was not drawn lies up to there, and if it lies beyond.
  const early = (q: number): number => q * (1 + undrawn) - undrawn;
  const late = (q: number): number => q * (1 + undrawn);
  const lists = qs.map((q) => {
    const levels = new Set([early(q), q, late(q)].filter((level) => level > 0 && level < 1));
    const near = [...levels].flatMap((level) => candidates(curve, level, carrying));
    return [...new Set(near)].sort((a, b) => a - b);
  });
  // And the one before each: what is told just before a value is told by as many as were looked at so long.
  const all = lists.flat().flatMap((position) => [Math.max(0, position - 1), position]);
  const points = qs.map((q) => reaching(curve, q));
  const middles = Uint32Array.from(points, (point) => Math.max(0, Math.min(point, curve.values.length - 1)));
  const drawn = Uint32Array.from(new Set(middles)).sort();
  const places = Uint32Array.from(new Set([...all, ...drawn])).sort();
  const { spread, tails: drawnTails } = spreadsOf(curve, places, resamples, drawn);
  const tails = new Map(drawnTails.map((tail, k) => [drawn[k], tail] as const));
  const positions = new Map([...places].map((position, k) => [position, k] as const));
  /** Chance that the share up to a position is below q, as those tell who were looked at up to the value at `until`. */
  const below = (position: number, q: number, until: number): number => {
    if (q <= 0 || q >= 1) return q <= 0 ? 0 : 1;
    const variance = spread[positions.get(position) ?? -1] ?? 0;
    const size = sizeOf(curve, position, variance, carrying, until);
    if (size === null) return 1 / 2;
    const share = curve.shares[position] ?? 0;
    return incompleteBeta(share * size + 0.5, (1 - share) * size + 0.5, q);
  };
  // The share grows from value to value. At the last one it may be all on every resample, which tells no spread, but no less either.
  const chancesOf = (list: readonly number[], q: number): number[] => {
    let least = 1;
    return list.map((position) => {
      least = Math.min(least, below(position, q, position));
      return least;
    });
  };
  return qs.map((q, k) => {
    const { less = 0, more = 0 } = tails.get(middles[k]) ?? {};
    const list = lists[k] ?? [];
    const chances = chancesOf(list, late(q));
    const end = list.at(-1) ?? -1;
    // A curve that is told to its end reaches q in every run.
    const isOpen = (spread[positions.get(end) ?? -1] ?? 0) > NO_SPREAD;
    const tail: TailsByChance = isOpen
      ? tailsOfOpen({ less, more }, chances.at(-1) ?? 0)
      : { above: () => less, before: () => more };
    const isBefore = (chance: number): boolean => chance > 1 - tail.before(chance);
    const inside = chancesOf(list, early(q)).findIndex((chance) => !isBefore(chance));
    const first = list[inside] ?? -1;
    // Between two candidates nobody looked: what follows one that lies before the interval may be inside.
    const next = Math.min(first, (list[inside - 1] ?? -1) + 1);
    // Fewer and fewer are looked at from one value to the next: where those left cannot exclude what lies between, that is inside.
    const least = next < first ? next : isBefore(below(first - 1, early(q), first)) ? first : first - 1;
    const after = chances.findLastIndex((chance) => chance > tail.above(chance)) + 1;
    const lo = curve.values[least] ?? null;
    const hi = after < list.length ? (curve.values[list[after] ?? -1] ?? null) : null;
    const isUntold = undrawn > 0 && lo === null && hi === null;
    return interval(isUntold ? null : (curve.values[points[k] ?? -1] ?? null), lo, hi);
  });
}
