/** Figures of births and deaths of allocations. Every allocation is counted, so that only its times are uncertain. */

import { interval } from "../../statistics/interval.ts";
import { recurrentQuantiles, recurrentSample } from "../../statistics/survival/recurrent-survival.ts";
import { observedQuantile } from "../../statistics/weighted-quantile.ts";
import type { AllocationLives, AllocationSample } from "../input/input.ts";
import type { Figure } from "../metrics/metric.ts";

/** Source of these figures: the streams of allocations. */
export const ALLOCATION = "allocation";
const METHOD =
  "KM over allocations, per byte; the interval holds whatever the times were within what is known of them, and however long what was alive at the end lives on; no sampling error";
/** Why a short time is only a bound. */
const BLURRED = "shorter than memray's clock can tell: it writes the time every 10 ms";
const CUT = "the capture is cut: what the program did later is in none of its records";
/** Longer than any time: an end that was not seen. */
const NEVER = Number.MAX_VALUE;

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Quantiles of the product-limit curve of bins of times; null where it is not reached. */
function survivalQuantiles({ ended, bytes, middle_ns }: AllocationLives, qs: readonly number[]): (number | null)[] {
  const units = Array.from(middle_ns, (time, i) =>
    ended[i] === 1 ? { complete: [time], censored: [] } : { complete: [], censored: [time] },
  );
  return recurrentQuantiles(recurrentSample(units, bytes), qs, []).map(({ value }) => value);
}

/** The least that a quantile can be, and the most; null where so much was alive at the end that there is no most. */
function quantileEnds({ ended, bytes, least_ns, most_ns }: AllocationLives, q: number): (number | null)[] {
  const weights = [...bytes];
  const longest = Array.from(most_ns, (time, i) => (ended[i] === 1 ? time : NEVER));
  const most = observedQuantile(longest, weights, q);
  return [observedQuantile([...least_ns], weights, q), most === NEVER ? null : most];
}

/**
 * Lifetimes per byte asked for, one figure per quantile. All allocations are there, so no assumption is in the ends: the
 * least quantile has every time at its shortest, the most every time at its longest and what was alive without an end.
 */
export function lifetimeFigures(
  { lives, is_cut }: AllocationSample,
  wanted: readonly (readonly [metric: string, q: number, ...rest: unknown[]])[],
): Figure[] {
  const n = sum(lives.n);
  const bytes = sum(lives.bytes);
  const open = (weights: Float64Array): number => sum(weights.map((weight, i) => (lives.ended[i] === 1 ? 0 : weight)));
  const censored = bytes > 0 ? open(lives.bytes) / bytes : 0;
  const values = survivalQuantiles(
    lives,
    wanted.map(([, q]) => q),
  );
  const alive = `${Number((100 * censored).toPrecision(2))} % of the bytes were alive at the end of the capture`;
  return wanted.map(([metric, q], k) => {
    const [lo, hi] = quantileEnds(lives, q);
    return {
      metric,
      source: ALLOCATION,
      estimate: interval(values[k] ?? null, lo ?? null, hi ?? null),
      n,
      n_censored: open(lives.n),
      censored,
      coverage: 1,
      census: true,
      method: METHOD,
      ...(hi === null ? { why: alive } : {}),
      // The middle of such a time is 0, and that no byte lived no time is sure.
      ...(lo === 0 && hi !== null ? { bound: true, why: BLURRED } : {}),
      // Lives of what was not recorded may be any.
      ...(is_cut ? { not_identifiable: true, why: CUT } : {}),
      ...(n === 0 ? { not_identifiable: true, why: "an aggregated capture has sums of stacks and no lifetimes" } : {}),
    };
  });
}

/** An exact sum; `why` where it is not known. */
function total(metric: string, sample: AllocationSample, value: number | null): Figure {
  return {
    metric,
    source: ALLOCATION,
    estimate: sample.is_cut ? { value: null, lo: value, hi: null } : interval(value, value, value),
    n: sample.allocations ?? sum(sample.lives.n),
    coverage: 1,
    census: true,
    method: "counted as the capture was read; exact",
    ...(sample.is_cut ? { bound: true, why: CUT } : {}),
    ...(value === null ? { not_identifiable: true, why: "an aggregated capture has its peak and its end alone" } : {}),
  };
}

/** Bytes that all allocations asked for, and how many they were. */
export function totalFigures(sample: AllocationSample): Figure[] {
  return [
    total("allocated_total_bytes", sample, sample.allocated_bytes),
    total("allocations_total", sample, sample.allocations),
  ];
}

/** Most bytes alive at one moment: exact for one process; of several nobody knows whether their peaks met. */
export function peakFigure(metric: string, sample: AllocationSample): Figure {
  const { processes, highest_peak_bytes: lo, is_cut } = sample;
  const hi = is_cut ? null : sample.peaks_bytes;
  const one = processes === 1 && !is_cut;
  return {
    metric,
    source: ALLOCATION,
    estimate: interval(one ? lo : null, lo, hi),
    n: Math.max(1, sample.allocations ?? sum(sample.lives.n)),
    coverage: 1,
    census: true,
    method: "sum over births and deaths in the order of the capture; exact for each process",
    ...(is_cut ? { bound: true, why: CUT } : {}),
    ...(one || is_cut ? {} : { why: `${processes} processes: their peaks need not have been at one moment` }),
  };
}
