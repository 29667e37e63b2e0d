/** Why the lives of rows of the KV cache are not known, as the figures of a run say it. */
import type { MetricRow } from "../../analyse/figures/metric-row.ts";

/** Null where they are known, or there is no such cache. */
export function untoldRows(metrics: readonly MetricRow[]): string | null {
  const untold = metrics.find(
    ({ region_type, source, status }) =>
      region_type === "kv_cache" && source === "step" && status === "not_identifiable",
  );
  return untold?.why ?? null;
}
