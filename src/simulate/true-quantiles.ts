/** Quantiles of times of which all are known, as the definitions have them. */
import { countBelow, firstIndex } from "../statistics/first-index.ts";

/** The truth of a figure: one number, or all from `lo` to `hi` where the definition leaves it open. */
export interface Truth {
  readonly lo: number;
  readonly hi: number;
}

/** Where half of the values are one number and half another, both are the median: a thousandth to either side of q. */
const TIE = 0.001;

/** Values of words in order, each for so many alike. */
export interface Values {
  readonly sorted: Float64Array;
  readonly repeats: number;
}

/** The least value up to which there are `wanted` of all; Infinity where there are fewer. */
function valueOfRank(all: readonly Values[], wanted: number): number {
  const isEnough = (value: number): boolean =>
    all.reduce((sum, { sorted, repeats }) => {
      return sum + repeats * firstIndex(sorted.length, (i) => (sorted[i] ?? 0) <= value);
    }, 0) >= wanted;
  let least = Number.POSITIVE_INFINITY;
  for (const { sorted } of all) {
    // Of many strata most have no lesser one: each is asked once before it is searched.
    const lesser = countBelow(sorted, least);
    if (lesser === 0 || !isEnough(sorted[lesser - 1] ?? 0)) continue;
    least = sorted[firstIndex(lesser, (k) => !isEnough(sorted[k] ?? 0))] ?? least;
  }
  return least;
}

/** The q-quantile of values of which `endless` more are longer than any: Infinity where they reach it. */
export function quantile(all: readonly Values[], endless: number, q: number): Truth | null {
  const count = all.reduce((sum, { sorted, repeats }) => sum + repeats * sorted.length, 0);
  if (count === 0) return null;
  const end = (p: number): number => valueOfRank(all, Math.max(1, Math.ceil(p * (count + endless))));
  return { lo: end(q - TIE), hi: end(q + TIE) };
}

/** The q-quantile of values; null where there are none. */
export function quantileOf(values: readonly number[], q: number): Truth | null {
  return quantile([{ sorted: Float64Array.from(values).sort(), repeats: 1 }], 0, q);
}

/** Stretches in which a time runs down to 0, of words: their lengths in order, and all of the time that there is. */
export interface Stretches {
  readonly sorted: Float64Array;
  /** Time in which it is 0, and all of the time. */
  readonly zero: number;
  readonly all: number;
  readonly repeats: number;
}

/** The q-quantile over moments of times that run down; Infinity where that is in a stretch whose end was not seen. */
export function momentQuantile(strata: readonly Stretches[], q: number): Truth | null {
  const sum = (part: (one: Stretches) => number): number =>
    strata.reduce((total, one) => total + one.repeats * part(one), 0);
  const total = sum(({ all }) => all);
  if (!(total > 0)) return null;
  // Moments in which no more than x is left: the last x of each stretch, or all of it.
  const below = strata.map(({ sorted }) => {
    const sums = new Float64Array(sorted.length + 1);
    for (let i = 0; i < sorted.length; i++) sums[i + 1] = (sums[i] ?? 0) + (sorted[i] ?? 0);
    return sums;
  });
  const upTo = (x: number): readonly [time: number, stretches: number] => {
    let time = sum(({ zero }) => zero);
    let longer = 0;
    strata.forEach(({ sorted, repeats }, s) => {
      const k = firstIndex(sorted.length, (i) => (sorted[i] ?? 0) < x);
      time += repeats * ((below[s]?.[k] ?? 0) + (sorted.length - k) * x);
      longer += repeats * (sorted.length - k);
    });
    return [time, longer];
  };
  const end = (p: number): number => {
    if (upTo(0)[0] >= p * total) return 0;
    const reached = strata.map(({ sorted }) => {
      const i = firstIndex(sorted.length, (k) => upTo(sorted[k] ?? 0)[0] < p * total);
      return sorted[i] ?? Number.POSITIVE_INFINITY;
    });
    const length = Math.min(...reached);
    if (length === Number.POSITIVE_INFINITY) return length;
    // Up to there time grows by all stretches that are no shorter.
    const [time, longer] = upTo(length);
    return length - (time - p * total) / longer;
  };
  return { lo: end(q - TIE), hi: end(q + TIE) };
}
