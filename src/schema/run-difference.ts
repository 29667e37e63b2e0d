/** What `compare RUN_A RUN_B` reports. */
import type { MetricStatus } from "./words.ts";

/** One figure of one run; see the metrics of `run --json`. */
export interface SideFigure {
  readonly status: MetricStatus;
  readonly source: string;
  readonly value: number | null;
  readonly lo: number | null;
  readonly hi: number | null;
  readonly n: number;
  readonly label: string | null;
  readonly why: string | null;
}

export interface MetricDifference {
  readonly metric: string;
  readonly region_type: string;
  readonly mapping_kind: string | null;
  readonly phase: string;
  readonly step: string;
  readonly grain_bytes: number | null;
  readonly unit: string;
  /** Null where the run has no such figure. */
  readonly a: SideFigure | null;
  readonly b: SideFigure | null;
  /** b - a in `unit`. */
  readonly difference: { readonly value: number | null; readonly lo: number | null; readonly hi: number | null };
  /** The same in % of a; null where a is 0 or no value. */
  readonly difference_pct: number | null;
  readonly method: "mover" | "bounds" | "counted" | "none";
  /** Whether the interval leaves out 0; null where that cannot be told. */
  readonly differs: boolean | null;
  /** Why it cannot be told, or what to mind. */
  readonly why: string | null;
}

export interface RunSide {
  readonly run_dir: string;
  readonly run_id: string;
  readonly model_id: string;
  readonly validity: string;
}

export interface RunDifference {
  readonly schema_version: string;
  readonly a: RunSide;
  readonly b: RunSide;
  /** What was not the same: a difference of the figures may come from any of it. */
  readonly contrasts: readonly { readonly what: string; readonly a: string; readonly b: string }[];
  readonly metrics: readonly MetricDifference[];
}
