/** metrics.parquet: every figure as a row. */
import { join } from "node:path";
import type { Database } from "../label/database.ts";
import { copyToParquet, fillTable } from "../label/derived-file.ts";
import { columnsOf } from "../schema/columns.ts";
import type { MetricRow } from "./metric-row.ts";

const METRICS_TABLE = "metrics";

function wholeNumber(value: number): bigint {
  return BigInt(Math.max(0, Math.round(value)));
}

const finite = (value: number | null): number | null => (value !== null && Number.isFinite(value) ? value : null);

/** The columns that metrics.parquet keeps as whole numbers become bigint; figures that are not finite become null. */
function storedRow(row: MetricRow) {
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

/** Replaces metrics.parquet of a run directory. */
export async function writeMetrics(database: Database, runDir: string, metrics: readonly MetricRow[]): Promise<void> {
  await fillTable(database, METRICS_TABLE, "metrics", metrics.map(storedRow));
  const columns = columnsOf("metrics").map((column) => column.name);
  const select = `SELECT ${columns.join(", ")} FROM ${METRICS_TABLE} ORDER BY rowid`;
  await copyToParquet(database, select, join(runDir, "metrics.parquet"));
}
