/** curves.parquet: every curve of the run as points. */
import { join } from "node:path";
import { batchFromRows } from "../../columnar/rows.ts";
import { writeParquetFile } from "../../columnar/write/parquet-writer.ts";
import type { RowOf } from "../../schema/row.ts";

/** Replaces curves.parquet of a run directory. @throws MrmTraceError failure where it cannot be written */
export function writeCurves(runDir: string, rows: readonly RowOf<"curves">[]): void {
  writeParquetFile(join(runDir, "curves.parquet"), "curves", [batchFromRows("curves", rows)]);
}
