/** Figures of a trace that holds every access. */
import { type Interval, interval } from "../../statistics/interval.ts";
import type { Figure } from "../metrics/metric.ts";
import { binnedQuantiles, censoredShare } from "./binned-quantiles.ts";
import type { BinnedTimes } from "./binned-times.ts";
import { jackknifeReach } from "./jackknife.ts";

/** Source of what was not recorded here. */
export const IMPORT = "import";
/** Why a timer's samples have no mix of loads and stores. */
export const HIDDEN_STORES = "stores hide behind stalled loads at a timer's ip";
/** Why a rate is not known where nobody said how the trace was sampled. */
export const NO_PERIOD =
  "the trace does not say how many accesses a row stands for: give --period, 1 where it holds every access";

/** The same of any source. */
export const whyNoPeriod = ({ source }: { readonly source: string }): string =>
  source === IMPORT ? NO_PERIOD : "its samples stand for no number of accesses: by cycles, or of some accesses only";

const OPEN = "from what is open ending where it was seen last to its never ending";

/** One figure per quantile of a distribution. */
export function streamQuantiles(
  times: BinnedTimes,
  quantiles: readonly (readonly [metric: string, q: number, ...rest: unknown[]])[],
  what: string,
  open: string,
): Figure[] {
  const estimates = binnedQuantiles(
    times,
    quantiles.map(([, q]) => q),
  );
  return quantiles.map(([metric], k) => ({
    metric,
    source: IMPORT,
    estimate: estimates[k] ?? { value: null, lo: null, hi: null },
    n: times.n,
    n_censored: times.n_censored,
    censored: censoredShare(times),
    coverage: 1,
    method: `${what}; interval of the share by leaving out one of 64 groups (Woodruff)${times.n_censored > 0 ? `, ${OPEN}` : ""}`,
    ...(times.n_censored > 0 ? { why: open } : {}),
  }));
}

/** The ratio of two sums by group, with Student's interval from leaving out each group in turn. */
export function streamRatio(top: Float64Array, bottom: Float64Array): Interval {
  const [t, b] = [sumOf(top), sumOf(bottom)];
  if (!(b > 0)) return interval(null, null, null);
  const without: number[] = [];
  for (const [g, part] of bottom.entries()) {
    const above = top[g] ?? 0;
    if (part < b && part + above > 0) without.push((t - above) / (b - part));
  }
  const reach = jackknifeReach(without);
  return reach === null ? interval(t / b, null, null) : interval(t / b, Math.max(0, t / b - reach), t / b + reach);
}

/** The same for a part of a whole: the interval ends at 1. */
export function streamShare(part: Float64Array, whole: Float64Array): Interval {
  const { value, lo, hi } = streamRatio(part, whole);
  return interval(value, lo, hi === null ? null : Math.min(1, hi));
}

export function sumOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
