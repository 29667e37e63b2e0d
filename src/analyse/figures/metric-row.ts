/** One row of metrics.parquet: a figure with everything that is needed to trust it. */
import type { RowOf } from "../../schema/row.ts";

/** Columns that the file keeps as whole numbers. */
type Whole = "n" | "n_censored" | "window_ns";

/** The columns of the `metrics` table; figures may be NaN. */
export type MetricRow = Omit<RowOf<"metrics">, Whole> & { readonly [N in Whole]: number };
