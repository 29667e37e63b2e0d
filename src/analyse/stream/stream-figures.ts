/** Figures of a trace that holds every access. */
import type { Group } from "../group.ts";
import type { Interval } from "../interval.ts";
import type { Figure } from "../metric.ts";
import { ratioInterval } from "../ratio.ts";
import { binnedQuantiles, censoredShare } from "./binned-quantiles.ts";
import type { BinnedTimes } from "./binned-times.ts";

/** Source of what was not recorded here. */
export const IMPORT = "import";
/** Why a rate is not known where nobody said how the trace was sampled. */
export const NO_PERIOD =
  "the trace does not say how many accesses a row stands for: give --period, 1 where it holds every access";

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
    method: `${what}; interval of the share by leaving out one of 64 groups (Woodruff)`,
    ...(times.n_censored > 0 ? { why: open } : {}),
  }));
}

/** The ratio of two sums by group, BCa over the groups. */
export function streamRatio(group: Group, top: Float64Array, bottom: Float64Array): Interval {
  return ratioInterval(top, bottom, group.blocks(top.length));
}

export function sumOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
