/** The product-limit curve of times that repeat within a unit (E. Kaplan and P. Meier, JASA 53, 1958). */

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

/** Nothing is left of a law where less than this share of its weight is still looked at: the rest is rounding. */
const ROUNDING = 1e-9;

const lawsOf = ({ law }: RecurrentSample): number => law.reduce((most, number) => Math.max(most, number + 1), 1);

/** Weight of the units of each law, and of all. @param times how often each unit was drawn; once each where null */
function weights({ unit_weight, law }: RecurrentSample, laws: number, times: Uint16Array | null) {
  const each = new Float64Array(laws);
  for (let i = 0; i < unit_weight.length; i++) {
    const number = law[i] ?? 0;
    each[number] = (each[number] ?? 0) + (unit_weight[i] ?? 0) * (times ? (times[i] ?? 0) : 1);
  }
  return { each, sum: each.reduce((total, w) => total + w, 0) };
}

/** The product-limit curve as it falls: of each law by itself, each with the share of the weight that is its. */
export interface Curve {
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
export function curveOf(sample: RecurrentSample, times: Uint16Array | null): Curve {
  const { law } = sample;
  const laws = lawsOf(sample);
  const { each: all, sum: weight } = weights(sample, laws, times);
  const atRisk = all.slice();
  const left = new Float64Array(laws).fill(1);
  const curve: Curve = {
    left: 1,
    weight,
    laws,
    take(w, unit, isEvent) {
      const number = law[unit] ?? 0;
      const risk = atRisk[number] ?? 0;
      const before = left[number] ?? 1;
      const mine = all[number] ?? 0;
      if (isEvent) {
        const after = risk - w <= mine * ROUNDING ? 0 : before * (1 - w / risk);
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

/**
 * The same of one law, for each of many resamples: to walk over the observations is most of the work of an interval, so nothing is called or
 * stored on the way.
 */
function endedOfOneLaw(sample: RecurrentSample, times: Uint16Array, stops: Uint32Array, out: Float64Array): void {
  const { time, event, unit, weight, unit_weight } = sample;
  let all = 0;
  for (let i = 0; i < unit_weight.length; i++) all += (unit_weight[i] ?? 0) * (times[i] ?? 0);
  if (!(all > 0)) {
    out.fill(Number.NaN);
    return;
  }
  const least = all * ROUNDING;
  let risk = all;
  let left = 1;
  let i = 0;
  for (let k = 0; k < stops.length; k++) {
    const stop = Math.min(stops[k] ?? 0, time.length);
    for (; i < stop; i++) {
      // A third of the units are not drawn, at random: to compute with their zeros is faster than to find out each time whether to.
      const w = (weight[i] ?? 0) * (times[unit[i] ?? 0] ?? 0);
      const after = risk - w;
      if (event[i] === 1) {
        if (after > least) left *= 1 - w / risk;
        else if (w > 0) left = 0;
      }
      risk = after;
    }
    out[k] = 1 - left;
  }
}

/** The same of several laws. @param laws how many @param lawOf of each observation */
function endedOfLaws(
  sample: RecurrentSample,
  { laws, lawOf }: { readonly laws: number; readonly lawOf: Uint32Array },
  times: Uint16Array,
  stops: Uint32Array,
  out: Float64Array,
): void {
  const { time, event, unit, weight } = sample;
  const { each: all, sum } = weights(sample, laws, times);
  if (!(sum > 0)) {
    out.fill(Number.NaN);
    return;
  }
  const atRisk = all.slice();
  const left = new Float64Array(laws).fill(1);
  let leftOfAll = 1;
  let i = 0;
  for (let k = 0; k < stops.length; k++) {
    const stop = Math.min(stops[k] ?? 0, time.length);
    for (; i < stop; i++) {
      const w = (weight[i] ?? 0) * (times[unit[i] ?? 0] ?? 0);
      if (w === 0) continue;
      const number = lawOf[i] ?? 0;
      const risk = atRisk[number] ?? 0;
      if (event[i] === 1) {
        const before = left[number] ?? 1;
        const mine = all[number] ?? 0;
        const after = risk - w <= mine * ROUNDING ? 0 : before * (1 - w / risk);
        left[number] = after;
        leftOfAll += ((after - before) * mine) / sum;
      }
      atRisk[number] = risk - w;
    }
    out[k] = 1 - leftOfAll;
  }
}

/**
 * Fills `out` with the share of the weight whose time ends within the first observations; NaN where a resample has no weight.
 * @param times how often each unit was drawn; once each where null
 * @param stops how many observations, ascending
 */
export type EndedWithin = (times: Uint16Array | null, stops: Uint32Array, out: Float64Array) => void;

/** What does that for a sample. */
export function endedWithin(sample: RecurrentSample): EndedWithin {
  const { unit, unit_weight, law } = sample;
  const laws = lawsOf(sample);
  const once = new Uint16Array(unit_weight.length).fill(1);
  if (laws === 1) return (times, stops, out) => endedOfOneLaw(sample, times ?? once, stops, out);
  const parts = { laws, lawOf: unit.map((owner) => law[owner] ?? 0) };
  return (times, stops, out) => endedOfLaws(sample, parts, times ?? once, stops, out);
}
