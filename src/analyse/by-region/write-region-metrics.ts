/** region_metrics.parquet: every figure of a single region as a row. */
import { join } from "node:path";
import { batchFromRows } from "../../columnar/rows.ts";
import { writeParquetFile } from "../../columnar/write/parquet-writer.ts";
import { storedRow } from "../figures/write-metrics.ts";
import type { RegionRows } from "./stream-regions.ts";

/** Replaces region_metrics.parquet of a run directory. @throws MrmTraceError failure where it cannot be written */
export function writeRegionMetrics(runDir: string, regions: readonly RegionRows[]): void {
  const rows = regions.flatMap(({ region_id, name, tensor, layer, rows: figures }) =>
    figures.map((figure) => ({ region_id, name, tensor, layer, ...storedRow(figure) })),
  );
  writeParquetFile(join(runDir, "region_metrics.parquet"), "region_metrics", [batchFromRows("region_metrics", rows)]);
}
