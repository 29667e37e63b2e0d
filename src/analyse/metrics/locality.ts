/** How near in address one access is to the one before it. */
import type { Group } from "../input/group.ts";
import { IMPORT, streamQuantiles, streamShare, sumOf } from "../stream/stream-figures.ts";
import { type Figure, type MetricFamily, notIdentifiable } from "./metric.ts";

const PAGE_BYTES = 4096;
const METRICS = ["same_page_fraction", "median_stride_bytes"] as const;

function watchFigures(group: Group): Figure[] {
  const n = group.every.exposures.length;
  if (n === 0) return [];
  const why = "a watch sees its own bytes alone, not where the access before went";
  return METRICS.map((metric) => notIdentifiable(metric, "watch", n, why));
}

function everyFigures(group: Group): Figure[] {
  if (group.stream === null) return [];
  const { pairs, same_page, strides } = group.stream;
  return [
    {
      metric: METRICS[0],
      source: IMPORT,
      estimate: streamShare(same_page, pairs),
      n: sumOf(pairs),
      coverage: 1,
      grain_bytes: PAGE_BYTES,
      method: "pairs of successive accesses of one thread to the class; jackknife over blocks of time, n counts pairs",
    },
    ...streamQuantiles(strides, [[METRICS[1], 0.5]], "strides of such pairs, n counts them, by block of time", ""),
  ];
}

export const locality: MetricFamily = {
  metrics: [
    {
      name: "same_page_fraction",
      unit: "ratio",
      definition:
        "Share of accesses that fall on the 4 KiB page of the access before it, of the same thread to the same class.",
      formula: "pairs (a, next access a' of its thread to the class) on one page / pairs",
      averaged_over: "pairs of accesses",
    },
    {
      name: "median_stride_bytes",
      unit: "bytes",
      definition:
        "Median distance between the addresses of an access and of the access before it, of the same thread to the same class.",
      formula: "Q_50 of the distance between the addresses of a and a', over pairs (a, next access a' of its thread)",
      averaged_over: "pairs of accesses",
    },
  ],
  estimator: ["Pairs of successive accesses; only a source that sees every access has them."],
  sources: [[IMPORT, "traces that hold every access"]],
  not_by_sampling: "the sample before a sample is not the access before it",
  suppressed: "n < 30 pairs.",
  spans: "whole",
  figures: (group) => [...watchFigures(group), ...everyFigures(group)],
};
