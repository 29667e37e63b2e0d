/** Bootstrap intervals of a mean over independent blocks. */
import { acceleration, adjustedQuantile } from "./bca.ts";
import { expandedTail } from "./expanded-tail.ts";
import { mean } from "./mean.ts";
import { seededRandom } from "./prng.ts";
import { studentQuantile } from "./student.ts";

/** An estimate that always has both ends, as numbers; NaN where there are too few values. */
export interface NumberInterval {
  readonly value: number;
  readonly lo: number;
  readonly hi: number;
}

/** Least number of resamples: below it the ends of a 95 % interval wander with the seed. */
export const RESAMPLES = 10_000;

/** Means of `resamples` draws with replacement, in ascending order. */
function resampledMeans(values: Float64Array, resamples: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  const n = values.length;
  const means = new Float64Array(resamples);
  for (let r = 0; r < resamples; r++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[Math.floor(random() * n)] ?? 0;
    means[r] = sum / n;
  }
  return means.sort();
}

/**
 * BCa interval of the mean of independent values at a two-sided level (Efron 1987), expanded for few values.
 * @param values one per block; fewer than two give an interval of NaN
 * @throws RangeError for fewer than RESAMPLES resamples
 */
export function bcaOfMean(
  values: readonly number[],
  { level = 0.95, resamples = RESAMPLES, seed = 1 }: { level?: number; resamples?: number; seed?: number } = {},
): NumberInterval {
  if (resamples < RESAMPLES)
    throw new RangeError(`at least ${RESAMPLES} resamples expected, but received ${resamples}`);
  const data = Float64Array.from(values);
  const value = mean(data);
  if (data.length < 2 || !data.every(Number.isFinite)) return { value, lo: Number.NaN, hi: Number.NaN };
  const means = resampledMeans(data, resamples, seed);
  let below = 0;
  let equal = 0;
  for (const m of means) {
    if (m < value) below += 1;
    else if (m === value) equal += 1;
  }
  if (equal === means.length) return { value, lo: value, hi: value };
  // Half of the ties count as below, so that the bias of a symmetric sample is zero.
  const share = Math.min(Math.max((below + equal / 2) / resamples, 0.5 / resamples), 1 - 0.5 / resamples);
  const accelerated = acceleration(data.map((x) => x - value));
  const end = (p: number): number => {
    const adjusted = adjustedQuantile(p, share, accelerated);
    return means[Math.min(resamples - 1, Math.max(0, Math.round(adjusted * (resamples - 1))))] ?? Number.NaN;
  };
  const tail = expandedTail((1 - level) / 2, data.length);
  return { value, lo: end(tail), hi: end(1 - tail) };
}

/** Student's t interval of the mean of independent values at a two-sided level. */
function studentOfMean(values: readonly number[], level: number): NumberInterval {
  const value = mean(values);
  const n = values.length;
  const sd = Math.sqrt(values.reduce((sum, x) => sum + (x - value) ** 2, 0) / (n - 1));
  const half = (studentQuantile((1 + level) / 2, n - 1) * sd) / Math.sqrt(n);
  return { value, lo: value - half, hi: value + half };
}

/**
 * The BCa interval, each end moved out to Student's t where that is farther. Noise of a busy machine has heavy tails: of
 * 1000 series of ten blocks drawn from recorded noise BCa alone held the truth in 88 %, this in 98 %; of 1000 from a
 * quieter hour in 96 and 98 %.
 * @param values one per block; fewer than two give an interval of NaN
 */
export function widestOfMean(
  values: readonly number[],
  { level = 0.95, seed = 1 }: { level?: number; seed?: number } = {},
): NumberInterval {
  const bca = bcaOfMean(values, { level, seed });
  if (Number.isNaN(bca.lo)) return bca;
  const student = studentOfMean(values, level);
  return { value: bca.value, lo: Math.min(bca.lo, student.lo), hi: Math.max(bca.hi, student.hi) };
}

/** Median of the averages of all pairs, each value with itself too: a centre that one wild block cannot move (Hodges and Lehmann 1963). */
export function hodgesLehmann(values: readonly number[]): number {
  const averages: number[] = [];
  values.forEach((a, i) => {
    for (const b of values.slice(i)) averages.push((a + b) / 2);
  });
  averages.sort((a, b) => a - b);
  const n = averages.length;
  if (n === 0) return Number.NaN;
  return ((averages[(n - 1) >> 1] ?? 0) + (averages[n >> 1] ?? 0)) / 2;
}
