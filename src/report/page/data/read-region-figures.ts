/** The figures of single regions, of those that have any. */
import { existsSync } from "node:fs";
import type { ReportMetric } from "../../../schema/run-json.ts";
import { isFigure } from "../../figure.ts";
import { rowsOf } from "./run-table.ts";

/** More nobody reads one by one; the file has them all. */
const MOST_REGIONS = 50;

export interface RegionFigures {
  readonly name: string;
  readonly class: string;
  readonly layer: number | null;
  readonly metrics: readonly ReportMetric[];
}

/** Rows of region_metrics.parquet by region, those with most samples first; none where the run has no such file. @throws as `rowsOf` */
export function readRegionFigures(path: string): RegionFigures[] {
  if (!existsSync(path)) return [];
  const regions = new Map<number, RegionFigures & { readonly metrics: ReportMetric[] }>();
  for (const { region_id, name, tensor, layer, ...columns } of rowsOf(path, "region_metrics")) {
    // Counts are u64 columns; they count samples and ns of a run, which a number holds.
    const numbers = Object.entries(columns).map(([key, value]) => [
      key,
      typeof value === "bigint" ? Number(value) : value,
    ]);
    // The columns of the table are the fields of a figure.
    const metric = Object.fromEntries(numbers) as unknown as ReportMetric;
    const region = regions.get(region_id) ?? {
      name: tensor ?? name ?? "",
      class: metric.region_type === "unknown" ? (metric.mapping_kind ?? "unknown") : metric.region_type,
      layer,
      metrics: [],
    };
    regions.set(region_id, region);
    region.metrics.push(metric);
  }
  const most = ({ metrics }: RegionFigures): number => Math.max(...metrics.map(({ n }) => Number(n)));
  return [...regions]
    .filter(([, { metrics }]) => metrics.some(isFigure))
    .sort(([a, one], [b, other]) => most(other) - most(one) || a - b)
    .slice(0, MOST_REGIONS)
    .map(([, region]) => region);
}
