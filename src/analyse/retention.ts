/** How long written data must be kept: from its write to its last read. */
import { resample } from "./bootstrap.ts";
import type { Group } from "./group.ts";
import { interval } from "./interval.ts";
import { kvUnits } from "./kv-need.ts";
import { type Figure, type MetricFamily, noWriteReason } from "./metric.ts";
import { boundedQuantiles } from "./recurrent-survival.ts";
import { unknownShare, writeHistory } from "./write-epoch.ts";

/** Hits of unknown kind above this share may hide writes: no figure. */
const MOST_UNKNOWN = 0.01;

const QUANTILES = [
  ["retention_p50_ns", 0.5, 0],
  ["retention_p90_ns", 0.9, 0],
  ["retention_p99_ns", 0.99, 299],
] as const;
const QS = QUANTILES.map(([, q]) => q);

function stepFigures(group: Group): Figure[] {
  if (group.kvRows.length === 0) return [];
  const units = kvUnits(group.kvRows);
  const resamples = resample(new Uint8Array(units.bytes.length), group.input.seed, 1003);
  const { sample, estimates } = boundedQuantiles(units.retention, units.bytes, QS, resamples);
  return QUANTILES.map(([metric, , fewest], k) => ({
    metric,
    source: "step",
    estimate: estimates[k] ?? interval(null, null, null),
    n: sample.n,
    n_censored: units.open,
    censored: sample.censored,
    coverage: 1,
    fewest_for_hi: fewest,
    method:
      "KM over KV rows by the engine's steps, per byte written; percentile bootstrap over writing steps, n counts them",
    ...(units.open > 0 ? { why: "rows still in the cache at the end" } : {}),
  }));
}

function watchFigures(group: Group): Figure[] {
  const { every } = group;
  const histories = every.exposures.map((e) => (e.watch.mode === "w" ? null : writeHistory(e)));
  const written = histories.some((h) => h !== null && h.writes.length > 0);
  const unknown = unknownShare(every.exposures);
  const nothing = { complete: [], censored: [] };
  const { sample, estimates } = boundedQuantiles(
    histories.map((h) => h?.retention ?? nothing),
    every.weights.bytes,
    QS,
    every.resamples(),
  );
  const hidden = unknown > MOST_UNKNOWN;
  return QUANTILES.map(([metric, , fewest], k) => ({
    metric,
    source: "watch",
    estimate: hidden ? interval(null, null, null) : (estimates[k] ?? interval(null, null, null)),
    n: written ? sample.n : every.exposures.length,
    n_censored: sample.n_censored,
    censored: sample.censored,
    coverage: sample.coverage,
    grain_bytes: 8,
    fewest_for_hi: fewest,
    method:
      "KM of write to last read before overwrite or free (Wang-Chang weights, per byte written in the exposure), percentile bootstrap over addresses",
    ...(hidden ? { why: `${Math.round(100 * unknown)} % of the hits may be writes` } : {}),
    ...(written || every.exposures.length === 0 ? {} : { not_identifiable: true, why: noWriteReason(group) }),
  }));
}

export const retention: MetricFamily = {
  metrics: [
    ["p50", "Median"],
    ["p90", "90th percentile"],
    ["p99", "99th percentile"],
  ].map(([p, words]) => ({
    name: `retention_${p}_ns`,
    unit: "ns",
    definition: `${words}, over bytes written, of the time from a write to the last read of what it wrote; 0 for data that is overwritten or freed unread.`,
  })),
  estimator:
    "Survival analysis. Data that was overwritten or freed inside the exposure is complete; data whose end was not seen is right-censored at its last read seen, which leans to longer retention, since the end of the need shows only at the overwrite. What was read before the first write seen is left out: its write is not known. Addresses weigh as in iai. KV rows by steps: write, last read and eviction of every row, rows in the cache at the end censored.",
  sources: [
    ["step", "KV rows: the engine's batches, clears and trims"],
    ["watch", "writes, reads and the free of the watched bytes"],
  ],
  not_by_sampling: "a sampled last read is earlier than the last read, and the write is not seen",
  suppressed:
    "No write seen: not identifiable. n < 30 addresses (or steps). More than half of the weight censored, or the quantile not reached: a bound from below. p99 with fewer than 299: a bound from below.",
  spans: "whole",
  figures: (group) => [...stepFigures(group), ...watchFigures(group)],
};
