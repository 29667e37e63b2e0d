/** Resampling of whole units (addresses or tokens), because what one unit shows is correlated. */
import { collectAround } from "../columnar/collect-after.ts";
import { acceleration, adjustedQuantile } from "./bca.ts";
import { type Interval, interval } from "./interval.ts";
import { seededRandom } from "./prng.ts";

const FEWEST = 199;
const MOST = 999;
/** Tails of t of one or two units are no number of the normal distribution any more. */
const LEAST_TAIL = 1e-6;
/** Units drawn in all: bounds the time of a group of 20,000 addresses to tens of milliseconds. */
const DRAWS = 1_000_000;

/** How many times each unit was drawn: one array per replicate, one entry per unit, at most 65,535. */
export type Resamples = readonly Uint16Array[];

/**
 * Draws units with replacement, each stratum to its own size (Efron and Tibshirani 1993, chapter 8).
 * @param stratum of each unit, any small integers
 * @param seed of the run
 * @param most replicates
 * @returns 999 replicates unless told, fewer (199 at least) for many units
 */
export function resample(stratum: ArrayLike<number>, seed: number, stream = 0, most = MOST): Resamples {
  const members = new Map<number, number[]>();
  for (let i = 0; i < stratum.length; i++) {
    const s = stratum[i] ?? 0;
    const list = members.get(s);
    if (list) list.push(i);
    else members.set(s, [i]);
  }
  const lists = [...members.values()].map((list) => Uint32Array.from(list));
  const random = seededRandom(seed, stream);
  const replicates = Math.min(most, Math.max(FEWEST, Math.floor(DRAWS / Math.max(1, stratum.length))));
  // Draws of many units are megabytes, which lie outside of the heap.
  collectAround((replicates * stratum.length) >> 4);
  const out: Uint16Array[] = [];
  for (let b = 0; b < replicates; b++) {
    const times = new Uint16Array(stratum.length);
    for (const list of lists) {
      for (let k = 0; k < list.length; k++) {
        const unit = list[(random() * list.length) | 0] ?? 0;
        times[unit] = (times[unit] ?? 0) + 1;
      }
    }
    out.push(times);
  }
  return out;
}

/** The p-quantile of sorted values by linear interpolation; Infinity where it touches an infinite one. */
function quantileOf(sorted: Float64Array, p: number): number {
  const rank = Math.min(Math.max(p, 0), 1) * (sorted.length - 1);
  const below = sorted[Math.floor(rank)] ?? Number.NaN;
  const above = sorted[Math.ceil(rank)] ?? Number.NaN;
  return below === above || !Number.isFinite(above) ? above : below + (above - below) * (rank - Math.floor(rank));
}

function usable(replicates: Float64Array): Float64Array {
  return replicates.filter((x) => !Number.isNaN(x)).sort();
}

/** The percentile interval; replicates without a value (NaN) are left out, an infinite end is null. */
export function percentileInterval(value: number, replicates: Float64Array, level: number): Interval {
  const sorted = usable(replicates);
  const tail = (1 - level) / 2;
  return interval(value, quantileOf(sorted, tail), quantileOf(sorted, 1 - tail));
}

/**
 * The bias-corrected and accelerated interval (Efron, JASA 82, 1987).
 * @param jackknife the estimate without each unit in turn
 */
export function bcaInterval(value: number, replicates: Float64Array, jackknife: Float64Array, level: number): Interval {
  const sorted = usable(replicates);
  let below = 0;
  for (const x of sorted) below += x < value ? 1 : x === value ? 0.5 : 0;
  const share = sorted.length > 0 ? below / sorted.length : 0;
  if (share <= 0 || share >= 1) return percentileInterval(value, replicates, level);
  let mean = 0;
  for (const x of jackknife) mean += x / jackknife.length;
  const accelerated = acceleration(jackknife.map((x) => mean - x));
  const adjusted = (p: number): number => adjustedQuantile(p, share, accelerated);
  // Farther out than the last replicate lies nothing.
  const tail = Math.max((1 - level) / 2, LEAST_TAIL);
  return interval(value, quantileOf(sorted, adjusted(tail)), quantileOf(sorted, adjusted(1 - tail)));
}
