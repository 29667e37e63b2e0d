/** Sums of ratios over strata, each with its own numerator and denominator, as functions of how often each unit counts. */
import { bcaInterval, type Resamples } from "./bootstrap.ts";
import { carryingUnits } from "./carrying-units.ts";
import { expandedLevel } from "./expanded-tail.ts";
import { CI_LEVEL, type Interval, interval } from "./interval.ts";

/** Arrays parallel, one entry per unit. */
export interface StratifiedRatio {
  readonly top: Float64Array;
  readonly bottom: Float64Array;
  /** Small integers. */
  readonly stratum: Uint32Array;
  /** What the ratio of each stratum is multiplied with, by stratum. */
  readonly scale: Float64Array;
}

interface Sums {
  readonly top: Float64Array;
  readonly bottom: Float64Array;
}

function sumsOf({ top, bottom, stratum, scale }: StratifiedRatio, times: Uint16Array | null): Sums {
  const sums = { top: new Float64Array(scale.length), bottom: new Float64Array(scale.length) };
  for (let i = 0; i < top.length; i++) {
    const m = times === null ? 1 : (times[i] ?? 0);
    const s = stratum[i] ?? 0;
    sums.top[s] = (sums.top[s] ?? 0) + m * (top[i] ?? 0);
    sums.bottom[s] = (sums.bottom[s] ?? 0) + m * (bottom[i] ?? 0);
  }
  return sums;
}

/** The sum over strata; a stratum that a resample left without denominator keeps its own ratio. */
function total(ratio: StratifiedRatio, sums: Sums, whole: Sums): number {
  let sum = 0;
  for (let s = 0; s < ratio.scale.length; s++) {
    const from = (sums.bottom[s] ?? 0) > 0 ? sums : whole;
    if ((from.bottom[s] ?? 0) > 0) sum += ((ratio.scale[s] ?? 0) * (from.top[s] ?? 0)) / (from.bottom[s] ?? 0);
  }
  return sum;
}

export interface Replicated {
  readonly value: number;
  /** One per resample. */
  readonly replicates: Float64Array;
  /** The value without each unit in turn. */
  readonly jackknife: Float64Array;
}

/** The sum, on every resample, and without each unit. */
export function replicateRatio(ratio: StratifiedRatio, resamples: Resamples): Replicated {
  const whole = sumsOf(ratio, null);
  const value = total(ratio, whole, whole);
  const replicates = Float64Array.from(resamples, (times) => total(ratio, sumsOf(ratio, times), whole));
  const jackknife = Float64Array.from(ratio.top, (top, i) => {
    const s = ratio.stratum[i] ?? 0;
    const [t, b] = [whole.top[s] ?? 0, whole.bottom[s] ?? 0];
    const rest = b - (ratio.bottom[i] ?? 0);
    if (!(b > 0) || !(rest > 0)) return value;
    return value + (ratio.scale[s] ?? 0) * ((t - top) / rest - t / b);
  });
  return { value, replicates, jackknife };
}

/**
 * The BCa interval of what was replicated (Efron, JASA 82, 1987). Few units that carry the value have wider tails, and so have few
 * that make it vary: of reads and writes that come in pairs only those that an end of a window parts.
 * @param carrying how many units that count alike would carry as much
 */
export function intervalOf({ value, replicates, jackknife }: Replicated, carrying: number): Interval {
  if (!Number.isFinite(value)) return interval(null, null, null);
  const varying = carryingUnits(jackknife.map((x) => Math.abs(x - value)));
  const level = expandedLevel(CI_LEVEL, varying > 0 ? Math.min(carrying, varying) : carrying);
  return bcaInterval(value, replicates, jackknife, level);
}

/** One replicated sum over another, unit by unit and resample by resample. */
export function quotient(top: Replicated, bottom: Replicated): Replicated {
  const over = (a: number | undefined, b: number | undefined): number => (b ? (a ?? 0) / b : Number.NaN);
  return {
    value: over(top.value, bottom.value),
    replicates: top.replicates.map((a, r) => over(a, bottom.replicates[r])),
    jackknife: top.jackknife.map((a, i) => over(a, bottom.jackknife[i])),
  };
}
