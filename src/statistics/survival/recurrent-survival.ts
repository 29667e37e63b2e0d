/** Quantiles of times that repeat within a unit: every address counts once, however many intervals it shows. */
import { numberOrder } from "../../columnar/keys/number-order.ts";
import { percentileInterval, type Resamples } from "../bootstrap.ts";
import { carryingUnits } from "../carrying-units.ts";
import { CI_LEVEL, type Interval, interval } from "../interval.ts";
import { MOST_LEFT, quantileIntervals, withLeft } from "../quantile-inversion.ts";
import { curveOf, type RecurrentSample } from "./product-limit.ts";
import { sharesOf } from "./survival-shares.ts";

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
  const rows = new Uint32Array(filled);
  let placed = 0;
  for (const kind of [1, 0]) for (let i = 0; i < filled; i++) if (event[i] === kind) rows[placed++] = i;
  // Those of one time stay as they are: events before censorings.
  const order = numberOrder(rows, time);
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
