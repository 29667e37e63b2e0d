/** All that the page's own script draws of one run, from the files of its directory. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { runPaths } from "../../../run-directory/run-directory.ts";
import type { RunReport } from "../../../schema/run-json.ts";
import type { RunMetadata } from "../../../schema/run-metadata.ts";
import { type Database, type EngineLimits, openDatabase, parquetScan } from "../../../sql/database.ts";
import { peakBytes, sizeOf } from "../../answer-rows.ts";
import { classNames, dataClasses } from "../../classes.ts";
import type { RunData } from "./page-data.ts";
import { readCurves } from "./read-curves.ts";
import { ROWS_OF_BAND, readHeat } from "./read-heat.ts";
import { type RegionFigures, readRegionFigures } from "./read-region-figures.ts";
import { classOfRegion, layOut, readRegions, regionColumns } from "./read-regions.ts";
import { readTimeline } from "./read-timeline.ts";

/** What the SQL engine may take by itself: it sums, and holds no rows. */
const MEMORY_BYTES = 128 * 2 ** 20;

/** A run whose files are there. */
export interface FinishedRun {
  readonly report: RunReport;
  readonly metadata: RunMetadata;
  /** Where its files lie. */
  readonly heldPath: string;
}

/** What a page has of one run beside its report. */
export interface ReadRun {
  /** For the page's own script. */
  readonly data: RunData;
  readonly single: readonly RegionFigures[];
}

/** When the run began and how long it was; by what lay in memory where nobody recorded that. */
async function spanOf(database: Database, { timing, end_ns }: RunMetadata, regionMap: string) {
  const [begin, end] = [BigInt(timing.started_ns), BigInt(end_ns)];
  if (begin > 0n && end > begin) return { origin_ns: begin, duration_ns: Number(end - begin) };
  const [row] = existsSync(regionMap)
    ? await database.rows(`SELECT min(birth_ns) AS first, max(death_ns) AS last FROM ${parquetScan([regionMap])}`)
    : [];
  const [first, last] = [row?.first, row?.last];
  if (typeof first !== "bigint" || typeof last !== "bigint") return { origin_ns: begin, duration_ns: 1 };
  return { origin_ns: first, duration_ns: Math.max(1, Number(last - first)) };
}

/**
 * @param name by which the page tells it from others
 * @throws MrmTraceError or what the SQL engine throws where a file of the run is damaged
 */
export async function readRun(
  { report, metadata, heldPath }: FinishedRun,
  name: string,
  limits: EngineLimits,
): Promise<ReadRun> {
  const paths = runPaths(heldPath);
  await using database = await openDatabase({ threads: 1, memoryLimitBytes: MEMORY_BYTES, ...limits });
  const span = await spanOf(database, metadata, paths.region_map);
  const timeline = await readTimeline(database, `${heldPath}/process_timeline.parquet`, span);
  const read = await readRegions(database, paths.region_map);
  const single = await readRegionFigures(database, join(heldPath, "region_metrics.parquet"));
  const rate = report.target.decode_tokens_per_s ?? report.target.decode_call_tokens_per_s;
  const shared = {
    name,
    token_ns: rate !== null && rate > 0 ? 1e9 / rate : null,
    curves: await readCurves(database, `${heldPath}/curves.parquet`, span.origin_ns),
    duration_ms: Math.round(span.duration_ns / 1e3) / 1e3,
    timeline: timeline.points,
    phases: timeline.phases,
  };
  if ("why" in read) {
    const nothing = { classes: [], class_bytes: [], class_bytes_read: [], regions_left_out: 0 };
    return { single, data: { ...shared, ...nothing, regions: read, heat: { why: read.why } } };
  }
  const { regions, left_out } = read.data;
  const order = classNames(report);
  const classes = [...new Set(regions.map(classOfRegion))].sort(
    (a, b) => (order.indexOf(a) + 1 || order.length + 1) - (order.indexOf(b) + 1 || order.length + 1),
  );
  const all = dataClasses(report);
  const sizes = classes.map((wanted) => {
    const found = all.find((one) => one.name === wanted);
    return found === undefined ? null : sizeOf(found, peakBytes(report));
  });
  const map = layOut(regions, classes, ROWS_OF_BAND);
  return {
    single,
    data: {
      ...shared,
      classes,
      class_bytes: sizes.map((size) => size?.bytes ?? null),
      class_bytes_read: sizes.map((size) => size?.sign === ""),
      regions: { data: regionColumns(regions, classes, map, span.origin_ns) },
      regions_left_out: left_out,
      heat: await readHeat(database, heldPath, regions, map, span),
    },
  };
}
