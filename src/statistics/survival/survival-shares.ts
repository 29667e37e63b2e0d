/** The share of times that have ended up to each, of a curve that is told as far as enough were looked at. */

import { type Shares, STANDS_FOR_FEWER_THAN } from "../quantile-inversion.ts";
import { curveOf, endedWithin, type RecurrentSample } from "./product-limit.ts";

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
  const { time, event } = sample;
  const { end, left } = firstUntold(sample, mostLeft);
  const values: number[] = [];
  /** Of each value: the observations that are not beyond it. */
  const counts: number[] = [];
  time.forEach((moment, i) => {
    if (event[i] && i < end && values.at(-1) !== moment) values.push(moment);
    if (values.at(-1) === moment) counts[values.length - 1] = i + 1;
  });
  const endedAt = endedWithin(sample);
  let [asked, stops] = [new Uint32Array(0), new Uint32Array(0)];
  const resampled = (times: Uint16Array | null, places: Uint32Array<ArrayBuffer>, out: Float64Array): void => {
    // All resamples of a curve are asked for at the same places.
    if (asked !== places) [asked, stops] = [places, places.map((place) => counts[place] ?? 0)];
    endedAt(times, stops, out);
  };
  const shares = new Float64Array(values.length);
  resampled(null, Uint32Array.from(values.keys()), shares);
  return {
    values: Float64Array.from(values),
    shares,
    tellers: tellersOf(sample, values, shares),
    left,
    until: time[end] ?? Number.POSITIVE_INFINITY,
    resampled,
  };
}
