/** Time between passes over a byte. */

import { boundedQuantiles, openInterval, type UnitTimes } from "../../statistics/recurrent-survival.ts";
import type { Group } from "../input/group.ts";
import { streamQuantiles } from "../stream/stream-figures.ts";
import type { Exposure } from "../watched/exposure.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const QUANTILES = [
  ["iai_p50_ns", 0.5, 0],
  ["iai_p90_ns", 0.9, 0],
  ["iai_p99_ns", 0.99, 299],
] as const;

/** Intervals between passes, start to start; the wait for the first pass is left out, because it is length-biased. */
export function passIntervals(exposure: Exposure): UnitTimes {
  const { start_ns, count } = exposure.passes;
  const complete: number[] = [];
  for (let i = 1; i < count; i++) complete.push((start_ns[i] ?? 0) - (start_ns[i - 1] ?? 0));
  const open = count > 0 ? exposure.end_ns - (start_ns[count - 1] ?? 0) : Number.NaN;
  return { complete, censored: openInterval(complete, open) };
}

function everyFigures(group: Group): Figure[] {
  if (group.stream === null) return [];
  const method = "KM of gaps between accesses to one address (Wang-Chang weights, per address), n counts gaps";
  return streamQuantiles(group.stream.intervals, QUANTILES, method, "addresses with one access");
}

function watchFigures(group: Group): Figure[] {
  const { uniform } = group;
  const { sample, estimates } = boundedQuantiles(
    uniform.exposures.map(passIntervals),
    uniform.weights.bytes,
    QUANTILES.map(([, q]) => q),
    uniform.resamples(),
  );
  return QUANTILES.map(([metric, , fewest], k) => ({
    metric,
    source: "watch",
    estimate: estimates[k] ?? { value: null, lo: null, hi: null },
    n: sample.n,
    n_censored: sample.n_censored,
    censored: sample.censored,
    coverage: sample.coverage,
    grain_bytes: 8,
    fewest_for_hi: fewest,
    method: `KM (Wang-Chang weights, per byte), percentile bootstrap over addresses; passes merged below ${group.gap_ns} ns`,
    ...(sample.n === 0 && uniform.exposures.length > 0
      ? { why: `no access to ${uniform.exposures.length} watched addresses` }
      : {}),
  }));
}

export const interAccessInterval: MetricFamily = {
  metrics: [
    ["p50", "Median"],
    ["p90", "90th percentile"],
    ["p99", "99th percentile"],
  ].map(([p, words]) => ({
    name: `iai_${p}_ns`,
    unit: "ns",
    definition: `${words} of the time from the start of one pass over a byte to the start of the next, among bytes that are accessed.`,
  })),
  estimator:
    "Complete intervals of one address share the bytes that it stands for; the open last interval of an address without a complete one is right-censored; the wait for the first pass is discarded (residual life is length-biased). Product-limit curve, percentile bootstrap over addresses within strata. Intervals shorter than the pass gap cannot appear.",
  sources: [
    ["watch", "every access to the watched bytes is seen"],
    ["import", "traces that hold every access, by address in place of byte and pass"],
  ],
  not_by_sampling: "intervals between samples measure the sampling period, not the program",
  suppressed:
    "n < 30 addresses; more than half of the weight censored (bound from below); p99 with fewer than 299 addresses (bound from below); loss above 1 %.",
  spans: "every",
  figures: (group) => [...watchFigures(group), ...everyFigures(group)],
};
