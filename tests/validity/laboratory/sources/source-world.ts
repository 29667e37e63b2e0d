/** A world for sources other than watches: one run gives the figures of the product and what is true. */
import type { MetricRow } from "../../../../src/analyse/figures/metric-row.ts";
import type { Truth } from "../../../../src/simulate/true-quantiles.ts";

export interface SourceRun {
  readonly rows: readonly MetricRow[];
  /** By what `nameOf` calls a figure. */
  readonly truth: ReadonlyMap<string, Truth | null>;
}

export interface SourceWorld {
  readonly name: string;
  /** Sources of which it has the truth. */
  readonly sources: readonly string[];
  readonly run: (seed: number) => SourceRun | Promise<SourceRun>;
}

/** A figure with its class, grain and step, where the source tells it of several. */
export function nameOf({
  metric,
  region_type,
  grain_bytes,
  step,
}: Pick<MetricRow, "metric" | "region_type" | "grain_bytes" | "step">) {
  const of = region_type === "kv_cache" || region_type === "unknown" ? "" : ` of ${region_type}`;
  return `${metric}${of}${grain_bytes === null ? "" : `, ${grain_bytes} B`}${step === "all" ? "" : `, ${step}`}`;
}
