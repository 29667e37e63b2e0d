/** How long regions of a class live. */
import type { Group } from "./group.ts";
import type { Figure, MetricFamily } from "./metric.ts";
import { recurrentQuantiles, recurrentSample } from "./recurrent-survival.ts";
import { observedQuantile } from "./weighted-quantile.ts";

function figures(group: Group): Figure[] {
  const regions = group.regions.filter((region) => region.size_bytes > 0 && region.death_ns >= region.birth_ns);
  const spans = regions.map((region) => region.death_ns - region.birth_ns);
  const bytes = regions.map((region) => region.size_bytes);
  const open = regions.map((region) => region.birth_censored || region.death_censored);
  const sample = recurrentSample(
    spans.map((time, i) => (open[i] ? { complete: [], censored: [time] } : { complete: [time], censored: [] })),
    bytes,
  );
  const median = recurrentQuantiles(sample, [0.5], [])[0]?.value ?? null;
  const atLeast = observedQuantile(spans, bytes, 0.5);
  return [
    {
      metric: "lifetime_p50_ns",
      source: "region_map",
      estimate: median === null ? { value: null, lo: atLeast, hi: null } : { value: median, lo: median, hi: median },
      n: regions.length,
      n_censored: open.filter(Boolean).length,
      censored: sample.censored,
      coverage: 1,
      window_ns: group.input.window_ns,
      census: true,
      method: "KM over regions, per byte; no sampling error; where it is a bound, the median of the lives seen so far",
      ...(median === null ? { why: "alive at the end of the run, or before it began" } : {}),
    },
  ];
}

export const lifetime: MetricFamily = {
  metrics: [
    {
      name: "lifetime_p50_ns",
      unit: "ns",
      definition: "Median, over bytes, of the time from the birth of a region to its death.",
    },
  ],
  estimator:
    "Product-limit curve weighted by bytes. A region alive at the end, or born before we looked, lived at least as long as was seen: right-censored. n counts regions.",
  sources: [["region_map", "every birth and death is recorded"]],
  not_by_sampling: null,
  suppressed: "More than half of the bytes censored: a bound from below, the median of what was seen.",
  spans: "whole",
  figures,
};
