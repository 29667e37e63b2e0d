/** All that the page's own script draws of one run, from the files of its directory. */
import { join } from "node:path";
import { runPaths } from "../../../run-directory/run-directory.ts";
import type { RunReport } from "../../../schema/run-json.ts";
import type { RunMetadata } from "../../../schema/run-metadata.ts";
import { peakBytes, sizeOf } from "../../answer-rows.ts";
import { classNames, dataClasses } from "../../classes.ts";
import type { RunData } from "./page-data.ts";
import { readCurves } from "./read-curves.ts";
import { ROWS_OF_BAND, readHeat } from "./read-heat.ts";
import { type RegionFigures, readRegionFigures } from "./read-region-figures.ts";
import { classOfRegion, layOut, livesOf, readRegions, regionColumns } from "./read-regions.ts";
import { readRequests } from "./read-requests.ts";
import { readTimeline } from "./read-timeline.ts";

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
function spanOf({ timing, end_ns }: RunMetadata, regionMap: string) {
  const [begin, end] = [BigInt(timing.started_ns), BigInt(end_ns)];
  if (begin > 0n && end > begin) return { origin_ns: begin, duration_ns: Number(end - begin) };
  const lives = livesOf(regionMap);
  if (lives === null) return { origin_ns: begin, duration_ns: 1 };
  return { origin_ns: lives.first_ns, duration_ns: Math.max(1, Number(lives.last_ns - lives.first_ns)) };
}

/**
 * @param name by which the page tells it from others
 * @param signal ends the work
 * @throws MrmTraceError data_quality where a file of the run is damaged; what the signal carries
 */
export async function readRun(
  { report, metadata, heldPath }: FinishedRun,
  name: string,
  signal?: AbortSignal,
): Promise<ReadRun> {
  const paths = runPaths(heldPath);
  const span = spanOf(metadata, paths.region_map);
  const timeline = readTimeline(join(heldPath, "process_timeline.parquet"), span.origin_ns);
  const read = readRegions(paths.region_map);
  const single = readRegionFigures(join(heldPath, "region_metrics.parquet"));
  const rate = report.target.decode_tokens_per_s ?? report.target.decode_call_tokens_per_s;
  const shared = {
    name,
    token_ns: rate !== null && rate > 0 ? 1e9 / rate : null,
    curves: readCurves(join(heldPath, "curves.parquet"), span.origin_ns),
    duration_ms: Math.round(span.duration_ns / 1e3) / 1e3,
    timeline: timeline.points,
    phases: timeline.phases,
    requests: readRequests(paths.request_figures, span.origin_ns),
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
      heat: await readHeat(heldPath, regions, map, span, signal),
    },
  };
}
