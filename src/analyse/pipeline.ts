/** Everything that is derived from a capture, as one sentence: label, reduce, estimate, write. */
import { join } from "node:path";
import { collectGrown } from "../columnar/collect-after.ts";
import { unreadRows } from "../label/capture/unread.ts";
import { hasItsAccesses } from "../label/capture/watch-hits.ts";
import { type DerivingLimits, type LabelCounters, labelRun } from "../label/label-run.ts";
import type { EngineSeen } from "../label/timeline/engines-seen.ts";
import type { RequestSummary } from "../schema/run-json.ts";
import type { AllocationSite } from "../schema/run-metadata.ts";
import type { BytesAre } from "../schema/words.ts";
import { type Database, DEFAULT_MEMORY_BYTES, openDatabase, parquetScan } from "../sql/database.ts";
import { formatCount } from "../units.ts";
import { writeRegionMetrics } from "./by-region/write-region-metrics.ts";
import { writeCurves } from "./curves/write-curves.ts";
import { estimate } from "./estimate.ts";
import type { MetricRow } from "./figures/metric-row.ts";
import { writeMetrics } from "./figures/write-metrics.ts";
import { addWatched, writeHeat } from "./heat/write-heat.ts";
import type { ImportCounters } from "./import-pipeline.ts";
import { cutWarnings } from "./input/cut-warnings.ts";
import { guessWarnings } from "./input/guess-warnings.ts";
import type { AnalysisInput } from "./input/input.ts";
import { mappedTotals } from "./input/label-totals.ts";
import { leftTimes, leftWarnings } from "./input/left-watches.ts";
import { loadInput, type RecordedFacts } from "./input/load.ts";
import { loadAllocationSites } from "./process/load-allocation-sites.ts";
import { writeTimeline } from "./process/write-timeline.ts";
import { deriveRequests } from "./requests/derive-requests.ts";
import { deriveSequences } from "./requests/derive-sequences.ts";
import { sumOf } from "./stream/stream-figures.ts";
import { overWhenCut } from "./watched/cut-watches.ts";
import { type Invariance, invarianceOf } from "./watched/invariance.ts";
import { type MoreTime, moreTime } from "./watched/more-time.ts";

/** What the labels say of one class. */
export interface LabelTotal {
  readonly region_type: string;
  readonly mapping_kind: string | null;
  readonly regions: number;
  readonly bytes: number;
  /** What `bytes`, the most at one moment, are: see src/schema/run-json.ts. */
  readonly bytes_are: BytesAre;
  /** The most at one moment of what was given its class by a guess; missing where nothing was. */
  readonly guessed_bytes?: number;
  /** Rows of the trace, each a sample or a trapped access. */
  readonly access_rows: number;
}

export interface AnalysisResult {
  readonly input: AnalysisInput;
  readonly metrics: readonly MetricRow[];
  /** The interval that a longer run would halve. */
  readonly moreTime: MoreTime | null;
  /** The figures by budget; null where it was one all the time, or in too few turns another. */
  readonly invariance: Invariance | null;
  readonly labels: readonly LabelTotal[];
  /** What requests took; null where no engine decoded. */
  readonly requests: RequestSummary | null;
  readonly traceRows: number;
  /** See metadata.json. */
  readonly allocationSites: readonly AllocationSite[] | null;
  /** Engines that were recognised, as they told of themselves. */
  readonly engines: readonly EngineSeen[];
  readonly counters: LabelCounters | ImportCounters;
  /** One sentence for each segment that was skipped and each count of rows left out. */
  readonly warnings: readonly string[];
}

const PAGE_BYTES = 4096;
/** What one part of deriving left behind until it is collected before the next. */
const COLLECT_AFTER_BYTES = 32 * 2 ** 20;

/** What fell in no region, as all accesses of a recording without mappings do; nothing where all was placed. */
async function unplacedRows(database: Database, parts: readonly string[], rows: number): Promise<LabelTotal[]> {
  if (rows <= 0) return [];
  const [found] = await database.rows(
    `SELECT count(DISTINCT address_page) AS pages FROM ${parquetScan(parts)} WHERE region_id = 0`,
  );
  return [
    {
      region_type: "unknown",
      mapping_kind: null,
      regions: 0,
      bytes: Number(found?.pages ?? 0) * PAGE_BYTES,
      bytes_are: "touched",
      access_rows: rows,
    },
  ];
}

/** The labelled run with what the metrics read of it. The rows of its watches nobody reads later: they are given up with the end of this. */
async function labelledInput(database: Database, runDir: string, facts: RecordedFacts, limits: DerivingLimits) {
  const { watches, ...labelled } = await labelRun(database, runDir, facts.run_id, {
    ...limits,
    model: facts.model ?? null,
    seed: facts.seed,
  });
  const memoryBytes = limits.memoryLimitBytes ?? DEFAULT_MEMORY_BYTES;
  const loaded = await loadInput({ ...labelled, watches }, facts, memoryBytes);
  const sites = await loadAllocationSites(labelled.capture);
  // Only now every segment was read.
  const unread = unreadRows(labelled.capture, facts.ledger, labelled.trace.bySource, watches);
  const cutWatches = watches.filter((watch) => !hasItsAccesses(watch)).length;
  const badWatches = watches.length - loaded.watches.length - cutWatches;
  return { labelled, loaded, sites, unread, takenWatches: watches.length, cutWatches, badWatches };
}

/**
 * Derives trace/, region_map.parquet, kv_block_lifecycle.parquet, request_figures.parquet, sequence_figures.parquet, process_timeline.parquet, metrics.parquet, curves.parquet, region_metrics.parquet and heat.parquet from `runDir`/capture, replacing
 * what is there. Needs no root, changes nothing below capture/, and gives the same bytes for the same capture and facts.
 * @throws MrmTraceError data_quality without a capture folder, or at a segment of another major schema version
 */
export async function analyseRun(
  runDir: string,
  facts: RecordedFacts,
  limits: DerivingLimits = {},
): Promise<AnalysisResult> {
  const partOver = collectGrown(COLLECT_AFTER_BYTES);
  partOver();
  await using database = await openDatabase({ ...limits, spillFolder: join(runDir, ".spill.unfinished") });
  const { labelled, loaded, sites, unread, takenWatches, cutWatches, badWatches } = await labelledInput(
    database,
    runDir,
    facts,
    limits,
  );
  // Of what is left of a capture the sums would be too small.
  const isWhole = !unread.some(({ stream }) => stream === "allocation_site" || stream === "allocation_stack");
  const watches = facts.is_cut ? overWhenCut(loaded.watches) : loaded.watches;
  const input = { ...loaded, watches, ledger: [...facts.ledger, ...unread] };
  partOver();
  const { metrics, curves, regions } = estimate(input, labelled.regionIndex);
  partOver();
  writeMetrics(runDir, metrics);
  writeCurves(runDir, curves);
  writeRegionMetrics(runDir, regions);
  const turns = (facts.budget_turns ?? []).map(({ begin_ns, budget_pct }) => ({
    begin_ns: Number(begin_ns - labelled.origin_ns),
    budget_pct,
  }));
  writeTimeline(runDir, input.counts?.points ?? [], labelled.timeline, labelled.origin_ns);
  const { trace } = labelled;
  addWatched(trace.heat, input.watches);
  addWatched(trace.heat, leftTimes(labelled));
  writeHeat(runDir, trace.heat.sums, trace.heat.sources, labelled.origin_ns);
  partOver();
  const requests = await deriveRequests(database, runDir, labelled);
  partOver();
  deriveSequences(runDir, labelled);
  const unplaced = await unplacedRows(database, trace.parts, trace.rows - trace.accesses.total);
  const { skipped } = labelled.capture;
  const left = Object.entries(labelled.counters.incomplete).filter(([, rows]) => rows > 0);
  const allocated = input.allocations.filter(({ is_part }) => !is_part);
  const leftOut = allocated.reduce((sum, { lives }) => sum + sumOf(lives.n), 0) - labelled.allocationRegions;
  const openWatches = loaded.watches.length - watches.length;
  const mapped = mappedTotals(labelled.regions, trace.accesses.rowsOf, labelled.window_ns);
  return {
    input,
    metrics,
    moreTime: moreTime(input, metrics),
    invariance: turns.length === 0 ? null : invarianceOf(input, metrics, turns),
    labels: [
      ...mapped.map(({ guessed_bytes, ...total }) => ({
        ...total,
        bytes_are: "mapped" as const,
        ...(guessed_bytes > 0 ? { guessed_bytes } : {}),
      })),
      ...allocated.map((all) => ({
        region_type: "runtime",
        mapping_kind: all.mapping_kind,
        regions: sumOf(all.lives.n),
        bytes: all.peaks_bytes ?? 0,
        bytes_are: "allocated" as const,
        access_rows: 0,
      })),
      ...unplaced,
    ],
    traceRows: labelled.trace.rows,
    requests,
    allocationSites: isWhole ? sites : null,
    engines: labelled.engines,
    counters: labelled.counters,
    warnings: [
      ...guessWarnings(mapped),
      ...cutWarnings(labelled.steps),
      ...skipped.map(({ path, reason }) => `skipped ${path}: ${reason}`),
      ...left.map(([stream, rows]) => `${rows} rows of ${stream} lack a required value and were left out`),
      ...(leftOut > 0
        ? [
            `region_map.parquet has the ${formatCount(labelled.allocationRegions)} largest allocations; ${formatCount(leftOut)} more are in capture/allocation, and the figures count all`,
          ]
        : []),
      ...leftWarnings(takenWatches, loaded, labelled.leftWatches.enough_gib),
      ...(cutWatches > 0 ? [`${cutWatches} watches were left out: accesses that they saw are in no segment`] : []),
      ...(openWatches > 0
        ? [
            `${openWatches} watches were left out: their time was not over when the recording was cut off, and of those that began as late only the ones that saw much are in a file`,
          ]
        : []),
      ...(badWatches > 0 ? [`${badWatches} watches cannot be and were left out`] : []),
    ],
  };
}
