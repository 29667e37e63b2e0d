/** One row of metrics.parquet: a figure with everything that is needed to trust it. */
import type { Scope } from "../input/group.ts";
import type { RegionType } from "../input/input.ts";

export type MetricStatus = "ok" | "bound" | "insufficient" | "not_identifiable";

/** The columns of the `metrics` table, in their order; meanings in src/schema/columns.ts. */
export interface MetricRow {
  readonly metric: string;
  readonly scope: Scope;
  readonly region_type: RegionType | "all";
  readonly mapping_kind: string | null;
  readonly phase: string;
  readonly step: "prefill" | "decode" | "all";
  readonly grain_bytes: number | null;
  readonly source: string;
  readonly unit: string;
  readonly value: number | null;
  readonly lo: number | null;
  readonly hi: number | null;
  readonly ci_level: number | null;
  readonly n: number;
  readonly n_censored: number;
  readonly coverage: number | null;
  readonly window_ns: number;
  readonly method: string;
  readonly label: string | null;
  readonly status: MetricStatus;
  readonly why: string | null;
  readonly lost_pct: number | null;
}
