/** The label step: capture/ in, trace/, region_map.parquet and kv_block_lifecycle.parquet out. */
import { collectGrown } from "../columnar/collect-after.ts";
import type { MappingCounters } from "../regions/mapping-events.ts";
import { CLONE_VM } from "../regions/mapping-row.ts";
import type { TensorCounters } from "../regions/tensor-map.ts";
import type { StreamName } from "../schema/columns.ts";
import type { ModelFacts } from "../schema/model-facts.ts";
import type { RowOf } from "../schema/row.ts";
import type { Database, EngineLimits } from "../sql/database.ts";
import { type Capture, openCapture } from "./capture/capture.ts";
import { type DrawnWatches, drawnWatches } from "./capture/drawn-watches.ts";
import { type MappingStays, mappingStays } from "./capture/mapping-stays.ts";
import { withOlderLayouts } from "./capture/older-captures.ts";
import { rowsInOrder } from "./capture/rows-in-order.ts";
import { readStreamRows } from "./capture/stream-rows.ts";
import { type ProcessEnd, tensorLives } from "./capture/tensor-lives.ts";
import { type WatchHits, watchHits } from "./capture/watch-hits.ts";
import { confirmRows } from "./kv/kv-confirm.ts";
import { type KvRows, kvRows } from "./kv/kv-lifecycle.ts";
import { writeKvLifecycle } from "./kv/kv-table.ts";
import { type LabelRoom, labelRoom } from "./label-room.ts";
import { allocationRegions } from "./regions/allocation-regions.ts";
import { oldMappings, sinceFirstLook } from "./regions/censored-births.ts";
import { type Fork, sinceFork } from "./regions/inherited-tensors.ts";
import { loadResidency } from "./regions/load-residency.ts";
import { type PlaceIndex, placeIndex } from "./regions/place-index.ts";
import { type Regions, regionMap } from "./regions/region-map.ts";
import { writeRegionMap } from "./regions/region-table.ts";
import type { Residency } from "./regions/residency.ts";
import { type EngineSeen, enginesSeen } from "./timeline/engines-seen.ts";
import { type Forks, forkTimes } from "./timeline/forks.ts";
import { type RunWindow, runWindow } from "./timeline/origin.ts";
import { type Timeline, timelineOf } from "./timeline/phase.ts";
import { isWork, partialEngines, type StepRow, stepRows, tellsSteps } from "./timeline/step-row.ts";
import { type TraceResult, writeTrace } from "./trace/trace.ts";

export interface DerivingLimits extends EngineLimits {
  /** Memory for what the labels hold. */
  readonly labelBytes?: number;
}

export interface LabelFacts extends DerivingLimits {
  /** The model that computed, where its file was read. */
  readonly model?: ModelFacts | null;
  /** Draws the watches of which figures are made, where there is no memory for all of them. */
  readonly seed?: number;
}

export interface LabelCounters {
  /** Rows left out because a required value was missing, by stream. */
  readonly incomplete: Readonly<Record<string, number>>;
  readonly mapping: MappingCounters;
  readonly tensor: TensorCounters;
}

export interface Labelled {
  readonly capture: Capture;
  readonly origin_ns: bigint;
  readonly window_ns: number;
  readonly regions: Regions;
  /** Over the regions. */
  readonly regionIndex: PlaceIndex;
  /** How much of them was in memory. */
  readonly residency: Residency;
  /** Allocations in the region map, which has the largest only. */
  readonly allocationRegions: number;
  readonly steps: readonly StepRow[];
  readonly timeline: Timeline;
  readonly forks: Forks;
  readonly kvRows: KvRows;
  /** In order of time. */
  readonly watches: readonly WatchHits[];
  /** The watches for which there was no memory. */
  readonly leftWatches: Pick<DrawnWatches, "left" | "leftRows" | "enough_gib">;
  readonly engines: readonly EngineSeen[];
  readonly trace: Omit<TraceResult, "hits">;
  readonly counters: LabelCounters;
}

/** Streams that no label needs: their times are all that is read of them here. */
const NOT_LABELLED = ["fault", "process", "residency"] as const satisfies readonly StreamName[];

/** What one part of the labelling left behind until it is collected before the next. */
const COLLECT_AFTER_BYTES = 32 * 2 ** 20;

/** Adds the segments to `capture.skipped` whose times cannot be read. */
function skipWithoutTimes(capture: Capture, stream: StreamName, times: RunWindow["times"]): void {
  for (const { path, rows } of capture.segments[stream]) {
    if (!times.has(path)) capture.skipped.push({ stream, path, rows, reason: "its times cannot be read" });
  }
}

/** Rows of a stream by the footers of its segments. */
function rowsOf(capture: Capture, stream: StreamName): number {
  return capture.segments[stream].reduce((sum, { rows }) => sum + rows, 0);
}

/** The mappings of the run, and of the same rows when processes were forked, by copies those with tensors, and when these ended. */
async function readMappings(
  database: Database,
  capture: Capture,
  originNs: bigint,
  tensorPids: ReadonlySet<number>,
  timeline: Timeline,
  room: LabelRoom,
) {
  room.check("rows of mappings", rowsOf(capture, "mapping"));
  const { rows, incomplete } = await rowsInOrder(database, capture, "mapping");
  const forks = forkTimes(originNs);
  const ends: ProcessEnd[] = [];
  const copies: Fork[] = [];
  function* noted(): Generator<RowOf<"mapping">, void, void> {
    for (const row of rows()) {
      forks.take(row);
      const { kind, pid: parent, child_pid: child, flags, timestamp_ns: time_ns } = row;
      const isCopy = kind === "fork" && ((flags ?? 0) & CLONE_VM) === 0;
      if (isCopy && child !== null && tensorPids.has(child)) copies.push({ parent, child, time_ns });
      const isEnd = row.kind === "exit" || row.kind === "exec";
      if (isEnd && tensorPids.has(row.pid)) ends.push({ pid: row.pid, time: row.timestamp_ns });
      yield row;
    }
  }
  const stays: MappingStays = mappingStays(noted(), originNs, new Set(timeline.keys()), room);
  return { stays, forks, copies, ends, incomplete };
}

/**
 * Labels a run and writes its derived files but for the metrics.
 * @throws MrmTraceError data_quality without capture/, or at a segment of another major schema version; environment where
 *   it holds more than there is memory for
 */
export async function labelRun(
  database: Database,
  runDir: string,
  runId: string,
  { labelBytes, model = null, seed = 0 }: LabelFacts = {},
): Promise<Labelled> {
  const capture = await openCapture(runDir);
  const incomplete: Record<string, number> = { mapping: 0 };
  const read = async <S extends StreamName>(stream: S): Promise<RowOf<S>[]> => {
    const result = await readStreamRows(database, capture, stream);
    incomplete[stream] = result.incomplete;
    return result.rows;
  };
  const room = labelRoom(labelBytes);
  const partOver = collectGrown(COLLECT_AFTER_BYTES);
  partOver();
  room.take("rows of tensors", rowsOf(capture, "tensor"));
  room.take("steps of engines", rowsOf(capture, "step"));
  const tensorEvents = await read("tensor");
  const { origin_ns, window_ns, times } = await runWindow(database, capture);
  for (const stream of NOT_LABELLED) skipWithoutTimes(capture, stream, times);
  const stepStream = await rowsInOrder(database, capture, "step");
  incomplete.step = stepStream.incomplete;
  const toldSteps = stepRows(stepStream.rows(), origin_ns);
  const steps = toldSteps.filter(tellsSteps);
  const partial = partialEngines(steps);
  const placing = steps.filter(({ engine }) => !partial.has(engine));
  const watchRows = await rowsInOrder(database, capture, "watch");
  incomplete.watch = watchRows.incomplete;
  const timeline = timelineOf(steps);
  partOver();
  const tensorPids = new Set(tensorEvents.map(({ pid }) => pid));
  const { stays, forks, copies, ends, ...mapped } = await readMappings(
    database,
    capture,
    origin_ns,
    tensorPids,
    timeline,
    room,
  );
  incomplete.mapping = mapped.incomplete;
  partOver();
  const placed = tensorLives(tensorEvents, ends);
  const old = oldMappings(stays.list.places, tensorPids, origin_ns);
  const tensors = withOlderLayouts(sinceFork(sinceFirstLook(placed.rows, old), copies), steps);
  const regions = regionMap({
    stays,
    tensors,
    timeline,
    enginePids: new Set(placing.map((step) => step.pid)),
    partialEngines: partial,
    workedPids: new Set(placing.filter(isWork).map((step) => step.pid)),
    originNs: origin_ns,
    windowNs: window_ns,
  });
  partOver();
  room.take("lives of mappings", regions.count);
  const index = placeIndex(regions);
  const labels = {
    runId,
    regions,
    index,
    code: stays.code,
    mappings: stays.facts,
    timeline,
    originNs: origin_ns,
    windowNs: window_ns,
  };
  // Where a cache lies is nothing to its steps.
  const caches = [...tensors, ...placed.elsewhere];
  const caching = new Set(caches.filter(({ region_type }) => region_type === "kv_cache").map(({ engine }) => engine));
  const ofCaches = steps.filter(({ engine }) => !partial.has(engine) || caching.has(engine));
  // Some of the watches tell what all do, less sharply; some of the tokens of a cache tell nothing.
  const mostTokens = room.mostBeside("tokens in caches", "watches", watchRows.count);
  const ofSteps = kvRows(ofCaches, caches, origin_ns, mostTokens, model);
  partOver();
  room.take("tokens in caches", Math.min(mostTokens, ofSteps.tokens.length));
  const drawn = drawnWatches(watchRows, seed, origin_ns, room);
  const { hits, ...trace } = await writeTrace(database, capture, times, labels, drawn.isTaken);
  incomplete.access = trace.incomplete;
  partOver();
  const allocations = await allocationRegions(capture, regions);
  const residency = await loadResidency(capture, regions, origin_ns);
  writeRegionMap(runDir, regions, { accesses: trace.accesses, residency }, origin_ns, allocations);
  const watches = watchHits(drawn.rows, hits, origin_ns);
  partOver();
  const rows = confirmRows(ofSteps, watches, ofCaches);
  writeKvLifecycle(runDir, rows, origin_ns);
  partOver();
  const counters = { incomplete, mapping: stays.counters, tensor: placed.counters };
  return {
    capture,
    origin_ns,
    window_ns,
    regions,
    regionIndex: index,
    residency,
    allocationRegions: allocations.count,
    steps,
    timeline,
    forks,
    kvRows: rows,
    watches,
    // Of tokens for which there is no room nobody knows how many there are: with more memory they come first.
    leftWatches: {
      left: drawn.left,
      leftRows: drawn.leftRows,
      enough_gib: rows.has_no_room ? null : drawn.enough_gib,
    },
    engines: enginesSeen(toldSteps),
    trace,
    counters,
  };
}
