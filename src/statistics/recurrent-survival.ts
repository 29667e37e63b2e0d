/** Quantiles of times that repeat within a unit: every address counts once, however many intervals it shows. */
import { percentileInterval, type Resamples } from "./bootstrap.ts";
import { carryingUnits } from "./carrying-units.ts";
import { CI_LEVEL, type Interval, interval } from "./interval.ts";
import { MOST_LEFT, quantileIntervals, type Shares, STANDS_FOR_FEWER_THAN, withLeft } from "./quantile-inversion.ts";

/** Times that one unit shows: complete ones, and those whose end was not seen. */
export interface UnitTimes {
  readonly complete: readonly number[];
  readonly censored: readonly number[];
  /** Weight of each time within its unit; all alike where absent. */
  readonly weights?: { readonly complete: readonly number[]; readonly censored: readonly number[] };
}

function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Observations in ascending time, events before censorings. */
export interface RecurrentSample {
  readonly time: Float64Array;
  readonly event: Uint8Array;
  /** Index of the unit. */
  readonly unit: Uint32Array;
  /** Weight of the observation: its part of its unit's weight. */
  readonly weight: Float64Array;
  /** Weight of each unit; 0 where it shows nothing. */
  readonly unit_weight: Float64Array;
  /** By which law each unit was looked at: what ends a look is chance among those of one law alone. */
  readonly law: Uint32Array;
  /** Units with an observation; of them those with censored ones only. */
  readonly n: number;
  readonly n_censored: number;
  /** Weight of the censored observations over that of all. */
  readonly censored: number;
  /** Weight of the units with an observation over that of all units. */
  readonly coverage: number;
}

/**
 * Puts the units' times together, each unit with its own weight however many times it shows.
 * @param weights one per unit, such as the bytes that it stands for
 */
export function recurrentSample(units: readonly UnitTimes[], weights: ArrayLike<number>): RecurrentSample {
  return sampleOf(units, weights, true, new Uint32Array(units.length));
}

/**
 * Puts the units' times together, each time with the weight of its unit: a unit counts as often as it shows.
 * @param weights one per unit: how much each of its times stands for
 * @param law one per unit, from 0 on, as RecurrentSample has it
 */
export function pooledSample(
  units: readonly UnitTimes[],
  weights: ArrayLike<number>,
  law: Uint32Array = new Uint32Array(units.length),
): RecurrentSample {
  return sampleOf(units, weights, false, law);
}

function sampleOf(
  units: readonly UnitTimes[],
  weights: ArrayLike<number>,
  isShared: boolean,
  law: Uint32Array,
): RecurrentSample {
  const count = units.reduce((rows, { complete, censored: cut }) => rows + complete.length + cut.length, 0);
  const time = new Float64Array(count);
  const event = new Uint8Array(count);
  const owners = new Uint32Array(count);
  const weight = new Float64Array(count);
  let filled = 0;
  const unitWeight = new Float64Array(units.length);
  let n = 0;
  let alone = 0;
  let covered = 0;
  let censored = 0;
  let all = 0;
  units.forEach((times, unit) => {
    const w = weights[unit] ?? 0;
    const { weights: parted } = times;
    const open = parted ? sum(parted.censored) : times.censored.length;
    const parts = (parted ? sum(parted.complete) : times.complete.length) + open;
    all += w;
    if (!(parts > 0)) return;
    const each = isShared ? w / parts : w;
    n += 1;
    covered += each * parts;
    unitWeight[unit] = each * parts;
    censored += each * open;
    if (times.complete.length === 0) alone += 1;
    for (const [list, kind, shares] of [
      [times.complete, 1, parted?.complete],
      [times.censored, 0, parted?.censored],
    ] as const) {
      for (let i = 0; i < list.length; i++) {
        time[filled] = list[i] as number;
        event[filled] = kind;
        owners[filled] = unit;
        weight[filled++] = each * (shares?.[i] ?? 1);
      }
    }
  });
  const order = Uint32Array.from({ length: filled }, (_, i) => i);
  order.sort((a, b) => (time[a] ?? 0) - (time[b] ?? 0) || (event[b] ?? 0) - (event[a] ?? 0));
  return {
    time: Float64Array.from(order, (i) => time[i] ?? 0),
    event: Uint8Array.from(order, (i) => event[i] ?? 0),
    unit: Uint32Array.from(order, (i) => owners[i] ?? 0),
    weight: Float64Array.from(order, (i) => weight[i] ?? 0),
    unit_weight: unitWeight,
    law,
    n,
    n_censored: alone,
    censored: covered > 0 ? censored / covered : 0,
    coverage: isShared ? (all > 0 ? covered / all : 0) : 1,
  };
}

/** The product-limit curve as it falls: of each law by itself, each with the share of the weight that is its. */
interface Curve {
  /** Share of the weight whose time is longer than those that were taken. */
  left: number;
  /** Of all observations: 0 where there is nothing. */
  readonly weight: number;
  /** Takes the next observation. */
  take(weight: number, unit: number, isEvent: boolean): void;
  /** Number of laws. */
  readonly laws: number;
  /** What is left under a law, over all weight, where those that are still looked at stand for so many times themselves, or for nothing; else 0. */
  untold(law: number, most: number): number;
}

/** @param times how often each unit was drawn */
function curveOf({ unit_weight, law }: RecurrentSample, times: Uint16Array | null): Curve {
  const laws = law.reduce((most, number) => Math.max(most, number + 1), 1);
  const all = new Float64Array(laws);
  for (let i = 0; i < unit_weight.length; i++) {
    const number = law[i] ?? 0;
    all[number] = (all[number] ?? 0) + (unit_weight[i] ?? 0) * (times ? (times[i] ?? 0) : 1);
  }
  const weight = all.reduce((sum, w) => sum + w, 0);
  const atRisk = all.slice();
  const left = new Float64Array(laws).fill(1);
  const curve: Curve = {
    left: 1,
    weight,
    laws,
    take(w, unit, isEvent) {
      const number = law[unit] ?? 0;
      const [risk, before, mine] = [atRisk[number] ?? 0, left[number] ?? 1, all[number] ?? 0];
      if (isEvent) {
        const after = risk - w <= mine * 1e-9 ? 0 : before * (1 - w / risk);
        left[number] = after;
        curve.left = laws === 1 ? after : curve.left + ((after - before) * mine) / weight;
      }
      atRisk[number] = risk - w;
    },
    untold(number, most) {
      const stands = (all[number] ?? 0) * (left[number] ?? 0);
      return (atRisk[number] ?? 0) * most > stands ? 0 : stands / weight;
    },
  };
  return curve;
}

/** Fills `out` with the quantiles `qs` (ascending) of the product-limit curve; Infinity where it is not reached. */
function quantiles(sample: RecurrentSample, times: Uint16Array | null, qs: readonly number[], out: Float64Array): void {
  const { time, event, unit, weight } = sample;
  const levels = Float64Array.from(qs, (q) => 1 - q + 1e-9);
  out.fill(Number.POSITIVE_INFINITY);
  const curve = curveOf(sample, times);
  if (!(curve.weight > 0)) {
    out.fill(Number.NaN);
    return;
  }
  let next = 0;
  for (let i = 0; i < time.length && next < qs.length; i++) {
    const w = (weight[i] ?? 0) * (times ? (times[unit[i] ?? 0] ?? 0) : 1);
    if (w === 0) continue;
    curve.take(w, unit[i] ?? 0, event[i] === 1);
    while (next < levels.length && curve.left <= (levels[next] ?? 0)) out[next++] = time[i] ?? Number.NaN;
  }
}

/**
 * Quantiles with percentile-bootstrap intervals over units.
 * @param qs ascending, in (0, 1)
 * @returns one interval per q; `value` null where the curve does not fall that far
 */
export function recurrentQuantiles(
  sample: RecurrentSample,
  qs: readonly number[],
  resamples: Resamples,
  level = CI_LEVEL,
): Interval[] {
  if (sample.n === 0) return qs.map(() => interval(null, null, null));
  const point = new Float64Array(qs.length);
  quantiles(sample, null, qs, point);
  const replicates = qs.map(() => new Float64Array(resamples.length));
  const out = new Float64Array(qs.length);
  resamples.forEach((times, r) => {
    quantiles(sample, times, qs, out);
    replicates.forEach((column, k) => {
      column[r] = out[k] ?? Number.NaN;
    });
  });
  return replicates.map((column, k) => percentileInterval(point[k] ?? Number.NaN, column, level));
}

/**
 * How many units tell the curve up to each time: those that were looked at so long, over the share that is left of all (Peto's
 * effective number: R. Peto and others, British Journal of Cancer 35, 1977).
 */
function tellersOf(
  { time, unit, weight }: RecurrentSample,
  values: readonly number[],
  shares: Float64Array,
): Float64Array {
  const tellers = new Float64Array(values.length);
  const held = new Map<number, number>();
  let squares = 0;
  let sum = 0;
  let i = time.length - 1;
  for (let k = values.length - 1; k >= 0; k--) {
    for (; i >= 0 && (time[i] ?? 0) >= (values[k] ?? 0); i--) {
      const before = held.get(unit[i] ?? 0) ?? 0;
      const after = before + (weight[i] ?? 0);
      held.set(unit[i] ?? 0, after);
      squares += after ** 2 - before ** 2;
      sum += weight[i] ?? 0;
    }
    const left = 1 - (shares[k - 1] ?? 0);
    tellers[k] = squares > 0 && left > 0 ? sum ** 2 / squares / left : 0;
  }
  return tellers;
}

/**
 * The first observation at which those that are looked at so long stand for as many times themselves as is too many, or for nothing. Where there are
 * several laws it is that at which what is left under those of which that is true is more than `mostLeft`, or under the last of them.
 * @returns with what is left under those before it, over all
 */
function firstUntold(sample: RecurrentSample, mostLeft: number): { end: number; left: number } {
  const { time, event, unit, weight } = sample;
  const curve = curveOf(sample, null);
  const going = new Set(Array.from({ length: curve.laws }, (_, law) => law));
  let ended = 0;
  for (let i = 0; i < time.length; i++) {
    for (const law of going) {
      const left = curve.untold(law, STANDS_FOR_FEWER_THAN);
      if (left === 0) continue;
      if (going.size === 1 || ended + left > mostLeft) return { end: i, left: ended };
      going.delete(law);
      ended += left;
    }
    curve.take(weight[i] ?? 0, unit[i] ?? 0, event[i] === 1);
  }
  return { end: time.length, left: ended };
}

/**
 * The product-limit curve at the times at which it falls, as far as enough were looked at.
 * @param mostLeft share of all that may be left untold under laws that end before others: `left` of it is, which may be of any time
 * @returns with the time until which it is told, level behind its last value: whatever ended later is no part of it
 */
export function sharesOf(sample: RecurrentSample, mostLeft = 0): Shares & Readonly<Record<"left" | "until", number>> {
  const { time, event, unit, weight } = sample;
  const values: number[] = [];
  const { end, left } = firstUntold(sample, mostLeft);
  /** Of each observation: how many values are not above its time, and do not count it yet. */
  const rank = new Uint32Array(time.length);
  time.forEach((moment, i) => {
    rank[i] = values.length - (values.at(-1) === moment ? 1 : 0);
    if (event[i] && i < end && values.at(-1) !== moment) values.push(moment);
  });
  const walk = (times: Uint16Array | null, places: Uint32Array, out: Float64Array): void => {
    const curve = curveOf(sample, times);
    if (!(curve.weight > 0)) {
      out.fill(Number.NaN);
      return;
    }
    let next = 0;
    for (let i = 0; i < time.length && next < places.length; i++) {
      while (next < places.length && (places[next] ?? 0) < (rank[i] ?? 0)) out[next++] = 1 - curve.left;
      const w = (weight[i] ?? 0) * (times ? (times[unit[i] ?? 0] ?? 0) : 1);
      if (w > 0) curve.take(w, unit[i] ?? 0, event[i] === 1);
    }
    out.fill(1 - curve.left, next);
  };
  const shares = new Float64Array(values.length);
  walk(null, Uint32Array.from(values.keys()), shares);
  return {
    values: Float64Array.from(values),
    shares,
    tellers: tellersOf(sample, values, shares),
    left,
    until: time[end] ?? Number.POSITIVE_INFINITY,
    resampled: walk,
  };
}

/**
 * Quantiles with intervals over units by the curve at each time. One that the curve does not reach has a lower end: the same
 * quantile of the times as they were seen, since no whole time is shorter than what was seen of it.
 * @param qs in (0, 1)
 * @param undrawn what was not drawn, over all that was, at most
 */
export function boundedQuantiles(
  sample: RecurrentSample,
  qs: readonly number[],
  resamples: Resamples,
  undrawn = 0,
): Interval[] {
  if (sample.n === 0) return qs.map(() => interval(null, null, null));
  const carrying = carryingUnits(sample.unit_weight);
  const curve = sharesOf(sample, MOST_LEFT);
  const found = quantileIntervals(curve, qs, resamples, carrying, withLeft(undrawn, curve.left));
  if (found.every((one) => one.value !== null && one.lo !== null)) return found;
  const seen = { ...sample, event: new Uint8Array(sample.event.length).fill(1) };
  const floor = quantileIntervals(sharesOf(seen), qs, resamples, carrying, undrawn);
  return found.map((one, k) => {
    const least = floor[k]?.lo ?? null;
    if (one.value !== null && one.lo !== null) return one;
    const lo = one.lo !== null && least !== null ? Math.max(one.lo, least) : (one.lo ?? least);
    return { value: one.value, lo, hi: one.hi };
  });
}

/** Quantiles of the times as far as they were seen, the open ones too; null without any. */
export function seenQuantiles(sample: RecurrentSample, qs: readonly number[]): (number | null)[] {
  const out = new Float64Array(qs.length);
  quantiles({ ...sample, event: new Uint8Array(sample.event.length).fill(1) }, null, qs, out);
  return Array.from(out, (time) => (Number.isFinite(time) ? time : null));
}

/**
 * Quantiles of the times if those that are open are longer than any; null where these reach the quantile. With seenQuantiles they are the
 * ends of what can be so of these very units, whatever becomes of what is open.
 * @param qs ascending
 */
export function latestQuantiles({ time, event, weight }: RecurrentSample, qs: readonly number[]): (number | null)[] {
  let all = 0;
  for (const w of weight) all += w;
  const found: (number | null)[] = qs.map(() => null);
  let ended = 0;
  let next = 0;
  for (let i = 0; i < time.length && next < qs.length; i++) {
    if (event[i]) ended += weight[i] ?? 0;
    while (next < qs.length && event[i] && ended >= ((qs[next] ?? 1) - 1e-9) * all) found[next++] = time[i] ?? null;
  }
  return found;
}

/** The share that had ended by each of some ascending moments, if times that are open are longer than any. */
export function endedShares({ time, event, weight }: RecurrentSample, moments: readonly number[]): number[] {
  let all = 0;
  for (const w of weight) all += w;
  let ended = 0;
  let i = 0;
  return moments.map((moment) => {
    for (; i < time.length && (time[i] ?? 0) <= moment; i++) if (event[i]) ended += weight[i] ?? 0;
    return all > 0 ? ended / all : 0;
  });
}

/** Quantiles of the times as far as they were seen, the open ones too, with intervals as recurrentQuantiles has them. */
export function seenIntervals(
  sample: RecurrentSample,
  qs: readonly number[],
  resamples: Resamples,
  level = CI_LEVEL,
): Interval[] {
  return recurrentQuantiles({ ...sample, event: new Uint8Array(sample.event.length).fill(1) }, qs, resamples, level);
}

/** So many units of one weight would tell as much (Kish 1965). */
export function effectiveUnits({ unit_weight }: RecurrentSample): number {
  let sum = 0;
  let squares = 0;
  for (const w of unit_weight) {
    sum += w;
    squares += w * w;
  }
  return squares > 0 ? (sum * sum) / squares : 0;
}

/** S(at): the share of the weight whose time is longer. NaN without observations. */
export function survivalAt(sample: RecurrentSample, moment: number): number {
  const { time, event, unit, weight } = sample;
  const curve = curveOf(sample, null);
  if (!(curve.weight > 0)) return Number.NaN;
  for (let i = 0; i < time.length && (time[i] ?? 0) <= moment; i++)
    curve.take(weight[i] ?? 0, unit[i] ?? 0, event[i] === 1);
  return curve.left;
}
