/** Time since the access before, per access. */
import type { Group } from "../input/group.ts";
import { groupWeights } from "../stream/binned-quantiles.ts";
import { IMPORT, streamQuantiles, streamRatio } from "../stream/stream-figures.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const QUANTILES = [
  ["reuse_time_p50_ns", 0.5, "Median"],
  ["reuse_time_p90_ns", 0.9, "90th percentile"],
  ["reuse_time_p99_ns", 0.99, "99th percentile"],
] as const;
const MEAN = "reuse_time_mean_ns";
const METHOD = "gaps between successive accesses to one address, every access alike, n counts them";

function figures(group: Group): Figure[] {
  const { stream } = group;
  if (stream === null) return [];
  const { reuse } = stream;
  return [
    ...streamQuantiles(reuse, QUANTILES, METHOD, ""),
    {
      metric: MEAN,
      source: IMPORT,
      estimate: streamRatio(stream.reuse_ns, groupWeights(reuse)),
      n: reuse.n,
      coverage: 1,
      method: `${METHOD}; jackknife over 64 groups of 64 B lines`,
    },
  ];
}

export const reuseTime: MetricFamily = {
  metrics: [...QUANTILES, [MEAN, null, "Mean"] as const].map(([name, q, words]) => ({
    name,
    unit: "ns",
    definition: `${words}, over accesses, of the time since the access before to the same address; the first access to an address has none.`,
    formula: `${q === null ? "mean" : `Q_${100 * q}`} of t(a) - t(access before a to its address), over accesses a`,
    averaged_over: "accesses",
  })),
  estimator: [
    "All gaps together, so that an address that is accessed often counts often: what a cache sees.",
    "`iai` is the same over passes: accesses closer than the pass gap are one of them.",
  ],
  sources: [[IMPORT, "traces that hold every access"]],
  not_by_sampling: "intervals between samples measure the sampling period, not the program",
  suppressed: "n < 30 gaps.",
  spans: "whole",
  figures,
};
