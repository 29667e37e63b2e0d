/** How old data is when it is read: from its last write to the read. */
import { resample } from "./bootstrap.ts";
import type { Group } from "./group.ts";
import { interval } from "./interval.ts";
import { kvUnits } from "./kv-need.ts";
import { type Figure, type MetricFamily, noWriteReason } from "./metric.ts";
import { boundedQuantiles } from "./recurrent-survival.ts";
import { writeHistory } from "./write-epoch.ts";

const QUANTILES = [
  ["age_at_read_p50_ns", 0.5, 0],
  ["age_at_read_p99_ns", 0.99, 299],
] as const;
const QS = QUANTILES.map(([, q]) => q);

function stepFigures(group: Group): Figure[] {
  if (group.kvRows.length === 0) return [];
  const units = kvUnits(group.kvRows);
  const resamples = resample(new Uint8Array(units.readBytes.length), group.input.seed, 1004);
  const { sample, estimates } = boundedQuantiles(units.ages, units.readBytes, QS, resamples);
  return QUANTILES.map(([metric, , fewest], k) => ({
    metric,
    source: "step",
    estimate: estimates[k] ?? interval(null, null, null),
    n: sample.n,
    coverage: 1,
    fewest_for_hi: fewest,
    method:
      "reads of KV rows by the engine's steps, per byte read; percentile bootstrap over writing steps, n counts them",
  }));
}

function watchFigures(group: Group): Figure[] {
  const { every } = group;
  const histories = every.exposures.map((e) => (e.watch.mode === "w" ? null : writeHistory(e)));
  const written = histories.some((h) => h !== null && h.writes.length > 0);
  const nothing = { complete: [], censored: [] };
  const { sample, estimates } = boundedQuantiles(
    histories.map((h) => h?.ages ?? nothing),
    every.weights.bytes,
    QS,
    every.resamples(),
  );
  return QUANTILES.map(([metric, , fewest], k) => ({
    metric,
    source: "watch",
    estimate: estimates[k] ?? interval(null, null, null),
    n: written ? sample.n : every.exposures.length,
    n_censored: sample.n_censored,
    censored: sample.censored,
    coverage: sample.coverage,
    grain_bytes: 8,
    fewest_for_hi: fewest,
    method:
      "KM of the time back to the last write, censored at the start of the exposure, per byte read; percentile bootstrap over addresses",
    ...(written || every.exposures.length === 0 ? {} : { not_identifiable: true, why: noWriteReason(group) }),
  }));
}

export const ageAtRead: MetricFamily = {
  metrics: [
    ["p50", "Median"],
    ["p99", "99th percentile"],
  ].map(([p, words]) => ({
    name: `age_at_read_${p}_ns`,
    unit: "ns",
    definition: `${words} of the time from the last write of a byte to a read pass over it.`,
  })),
  estimator:
    "Looking back from each read pass: the age is known where the write lies inside the exposure, else it is longer than the exposure so far and censored there. Product-limit curve; the reads of an address share the bytes that it stands for. KV rows by steps: reads spaced evenly from write to last read, weighted by bytes read.",
  sources: [
    ["step", "KV rows: one read pass per step"],
    ["watch", "writes and reads of the watched bytes"],
  ],
  not_by_sampling: "the last write before a sampled read is not seen",
  suppressed:
    "No write seen: not identifiable. n < 30. More than half of the weight censored, or the quantile not reached: a bound from below. p99 with fewer than 299: a bound from below.",
  spans: "whole",
  figures: (group) => [...stepFigures(group), ...watchFigures(group)],
};
