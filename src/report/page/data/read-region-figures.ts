/** The figures of single regions, of those that have any. */
import { existsSync } from "node:fs";
import type { ReportMetric } from "../../../schema/run-json.ts";
import { type Database, parquetScan } from "../../../sql/database.ts";

/** More nobody reads one by one; the file has them all. */
const MOST_REGIONS = 50;

export interface RegionFigures {
  readonly name: string;
  readonly class: string;
  readonly layer: number | null;
  readonly metrics: readonly ReportMetric[];
}

/** Rows of region_metrics.parquet by region, those with most samples first; none where the run has no such file. @throws what the SQL engine throws */
export async function readRegionFigures(database: Database, path: string): Promise<RegionFigures[]> {
  if (!existsSync(path)) return [];
  const rows = await database.rows(
    `SELECT *, max(n) OVER (PARTITION BY region_id) AS most FROM ${parquetScan([path])}
     QUALIFY bool_or(status IN ('ok', 'bound')) OVER (PARTITION BY region_id) ORDER BY most DESC, region_id`,
  );
  const regions = new Map<unknown, RegionFigures & { readonly metrics: ReportMetric[] }>();
  for (const { region_id, name, tensor, layer, most: _, ...columns } of rows) {
    // Counts are u64 columns; they count samples and ns of a run, which a number holds.
    const numbers = Object.entries(columns).map(([key, value]) => [
      key,
      typeof value === "bigint" ? Number(value) : value,
    ]);
    // The columns of the table are the fields of a figure.
    const metric = Object.fromEntries(numbers) as unknown as ReportMetric;
    const region = regions.get(region_id) ?? {
      name: String(tensor ?? name ?? ""),
      class: metric.region_type === "unknown" ? (metric.mapping_kind ?? "unknown") : metric.region_type,
      layer: layer === null || layer === undefined ? null : Number(layer),
      metrics: [],
    };
    regions.set(region_id, region);
    region.metrics.push(metric);
  }
  return [...regions.values()].slice(0, MOST_REGIONS);
}
