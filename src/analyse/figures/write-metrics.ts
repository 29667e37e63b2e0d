/** metrics.parquet: every figure as a row. */
import { join } from "node:path";
import { batchFromRows } from "../../columnar/rows.ts";
import { writeParquetFile } from "../../columnar/write/parquet-writer.ts";
import type { MetricRow } from "./metric-row.ts";

function wholeNumber(value: number): bigint {
  return BigInt(Math.max(0, Math.round(value)));
}

const finite = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null);

/** The columns that metrics.parquet keeps as whole numbers become bigint; figures that are not finite become null. */
export function storedRow(row: MetricRow) {
  return {
    ...row,
    value: finite(row.value),
    lo: finite(row.lo),
    hi: finite(row.hi),
    coverage: finite(row.coverage),
    lost_pct: finite(row.lost_pct),
    n: wholeNumber(row.n),
    n_censored: wholeNumber(row.n_censored),
    window_ns: wholeNumber(row.window_ns),
  };
}

/** Replaces metrics.parquet of a run directory. @throws MrmTraceError failure where it cannot be written */
export function writeMetrics(runDir: string, metrics: readonly MetricRow[]): void {
  writeParquetFile(join(runDir, "metrics.parquet"), "metrics", [batchFromRows("metrics", metrics.map(storedRow))]);
}
