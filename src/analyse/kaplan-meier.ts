/** The product-limit curve of left-truncated, right-censored times, and quantiles with their bounds. */
import { CI_Z, type Interval, interval } from "./interval.ts";

/** A step per distinct event time; arrays of one length, times ascending. */
export interface SurvivalCurve {
  readonly time: Float64Array;
  /** S just after `time`. */
  readonly survival: Float64Array;
  /** Greenwood's sum d / (n (n - d)): the variance of ln S. Infinite where S is 0. */
  readonly logVariance: Float64Array;
  readonly n: number;
  readonly events: number;
  /** The longest time that anyone was followed, event or not; 0 without samples. */
  readonly followed: number;
}

/**
 * Kaplan and Meier's estimate (JASA 53, 1958); with entry times, the left-truncated form of Tsai, Jewell and Wang
 * (Biometrika 74, 1987): a unit is at risk on (entry, exit]. Events go before censorings at the same time.
 * @param exit event or censoring time of each unit, >= 0
 * @param event 1 where the exit is the event, 0 where it is censored
 * @param entry when each unit came under observation; 0 for all when absent
 */
export function kaplanMeier(exit: Float64Array, event: Uint8Array, entry?: Float64Array): SurvivalCurve {
  const order = Array.from(exit.keys()).sort((i, j) => (exit[i] ?? 0) - (exit[j] ?? 0));
  const entries = entry ? Float64Array.from(entry).sort() : null;
  const time: number[] = [];
  const survival: number[] = [];
  const logVariance: number[] = [];
  let s = 1;
  let greenwood = 0;
  let events = 0;
  let entered = 0;
  for (let from = 0; from < order.length; ) {
    const t = exit[order[from] ?? 0] ?? 0;
    let to = from;
    let d = 0;
    while (to < order.length && exit[order[to] ?? 0] === t) {
      d += event[order[to] ?? 0] ? 1 : 0;
      to += 1;
    }
    if (entries) while (entered < entries.length && (entries[entered] ?? 0) < t) entered += 1;
    const atRisk = (entries ? entered : exit.length) - from;
    if (d > 0 && atRisk > 0) {
      s *= Math.max(0, 1 - d / atRisk);
      greenwood += d < atRisk ? d / (atRisk * (atRisk - d)) : Number.POSITIVE_INFINITY;
      events += d;
      time.push(t);
      survival.push(s);
      logVariance.push(greenwood);
    }
    from = to;
  }
  return {
    time: Float64Array.from(time),
    survival: Float64Array.from(survival),
    logVariance: Float64Array.from(logVariance),
    n: exit.length,
    events,
    followed: order.length > 0 ? (exit[order[order.length - 1] ?? 0] ?? 0) : 0,
  };
}

/** Pointwise log-log interval of S at step i (Kalbfleisch and Prentice 1980), kept inside [0, 1]. */
export function survivalInterval(curve: SurvivalCurve, i: number, z = CI_Z): Interval {
  const s = curve.survival[i] ?? 1;
  const variance = curve.logVariance[i] ?? 0;
  if (s <= 0) return interval(0, 0, null);
  if (s >= 1) return interval(1, null, 1);
  const width = (z * Math.sqrt(variance)) / Math.log(s);
  return interval(s, s ** Math.exp(-width), s ** Math.exp(width));
}

/**
 * The q-quantile: the least time with S <= 1 - q; its interval inverts the log-log band (Brookmeyer and Crowley,
 * Biometrics 38, 1982). A quantile that the curve does not reach is null, with the lower end that is known:
 * where the band is crossed, else the longest follow-up.
 * @param q in (0, 1)
 */
export function survivalQuantile(curve: SurvivalCurve, q: number, z = CI_Z): Interval {
  const target = 1 - q + 1e-12;
  let value: number | null = null;
  let lo: number | null = null;
  let hi: number | null = null;
  for (let i = 0; i < curve.time.length && hi === null; i++) {
    const t = curve.time[i] ?? 0;
    const band = survivalInterval(curve, i, z);
    if (value === null && (curve.survival[i] ?? 1) <= target) value = t;
    if (lo === null && (band.lo ?? 1) <= target) lo = t;
    if (band.hi !== null && band.hi <= target) hi = t;
  }
  return interval(value, lo ?? (curve.n > 0 ? curve.followed : null), hi);
}
