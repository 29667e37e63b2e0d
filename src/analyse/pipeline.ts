/** Everything that is derived from a capture, as one sentence: label, reduce, estimate, write. */
import { join } from "node:path";
import { type Database, openDatabase } from "../label/database.ts";
import { copyToParquet, fillTable } from "../label/derived-file.ts";
import { type LabelCounters, labelRun } from "../label/label-run.ts";
import { openTraceFile } from "../label/trace-file.ts";
import { columnsOf } from "../schema/columns.ts";
import { formatCount } from "../units.ts";
import type { AnalysisInput } from "./input.ts";
import { loadInput, type RecordedFacts } from "./load.ts";
import type { MetricRow } from "./metric-row.ts";
import { computeMetrics } from "./registry.ts";
import { LABEL_SUMMARY } from "./sql/label-summary.ts";
import { reduceTrace } from "./stream/reduce.ts";
import { NO_PERIOD, sumOf } from "./stream/stream-figures.ts";

/** What the labels say of one class; bytes are the most held at one time. */
export interface LabelTotal {
  readonly region_type: string;
  readonly mapping_kind: string | null;
  readonly regions: number;
  readonly bytes: number;
  readonly accesses: number;
}

export interface AnalysisResult {
  readonly input: AnalysisInput;
  readonly metrics: readonly MetricRow[];
  readonly labels: readonly LabelTotal[];
  readonly traceRows: number;
  readonly counters: LabelCounters | ImportCounters;
  /** One sentence for each segment that was skipped and each count of rows left out. */
  readonly warnings: readonly string[];
}

/** What an import left out. */
export interface ImportCounters {
  readonly incomplete: Readonly<Record<string, number>>;
}

const METRICS_TABLE = "metrics";
const PAGE_BYTES = 4096;
/** The SQL engine only decodes an import, and sorts it where it is out of order. */
const IMPORT_MEMORY_BYTES = 256 * 2 ** 20;

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

async function writeMetrics(database: Database, runDir: string, metrics: readonly MetricRow[]): Promise<void> {
  await fillTable(database, METRICS_TABLE, "metrics", metrics.map(storedRow));
  const columns = columnsOf("metrics").map((column) => column.name);
  const select = `SELECT ${columns.join(", ")} FROM ${METRICS_TABLE} ORDER BY rowid`;
  await copyToParquet(database, select, join(runDir, "metrics.parquet"));
}

/**
 * Derives metrics.parquet of a run directory from a labelled trace that was recorded elsewhere. The trace keeps its
 * labels and is not changed.
 * @param period accesses that each of its rows stands for: 1 where it holds every access, null where nobody knows
 * @throws MrmTraceError data_quality where the file is no such trace
 */
export async function analyseImport(
  runDir: string,
  trace: string,
  period: number | null,
  facts: RecordedFacts,
): Promise<AnalysisResult> {
  await using database = await openDatabase({
    threads: 1,
    memoryLimitBytes: IMPORT_MEMORY_BYTES,
    spillFolder: join(runDir, ".spill.unfinished"),
  });
  const file = await openTraceFile(database, trace);
  const reduced = await reduceTrace(database, file, period);
  const input: AnalysisInput = {
    ...facts,
    t0_ns: reduced.origin_ns,
    window_ns: reduced.window_ns,
    watches: [],
    regions: [],
    steps: [],
    kvRows: [],
    accessSums: reduced.sums,
    allocations: [],
    streams: reduced.streams,
  };
  const metrics = computeMetrics(input);
  await writeMetrics(database, runDir, metrics);
  const incomplete = file.rows - reduced.rows;
  return {
    input,
    metrics,
    labels: reduced.sums.map(({ region_type, rows, seen }) => ({
      region_type,
      mapping_kind: null,
      regions: reduced.regions.get(region_type) ?? 0,
      bytes: (seen.find(({ grain_bytes }) => grain_bytes === PAGE_BYTES)?.distinct ?? 0) * PAGE_BYTES,
      accesses: rows,
    })),
    traceRows: reduced.rows,
    counters: { incomplete: { access: incomplete } },
    warnings: [
      "an import has no mappings: the bytes of a class are those of the 4 KiB pages that its accesses touch",
      ...(period === null ? [NO_PERIOD] : []),
      ...(incomplete > 0 ? [`${incomplete} rows of the trace lack an address or a time and were left out`] : []),
    ],
  };
}

/**
 * Derives trace/, region_map.parquet, kv_block_lifecycle.parquet and metrics.parquet from `runDir`/capture, replacing
 * what is there. Needs no root, changes nothing below capture/, and gives the same bytes for the same capture and facts.
 * @throws MrmTraceError data_quality without a capture folder, or at a segment of another major schema version
 */
export async function analyseRun(runDir: string, facts: RecordedFacts): Promise<AnalysisResult> {
  await using database = await openDatabase({ spillFolder: join(runDir, ".spill.unfinished") });
  const labelled = await labelRun(database, runDir, facts.run_id);
  const input = await loadInput(database, labelled, facts);
  const metrics = computeMetrics(input);
  await writeMetrics(database, runDir, metrics);
  const totals = await database.rows(LABEL_SUMMARY);
  const { skipped } = labelled.capture;
  const left = Object.entries(labelled.counters.incomplete).filter(([, rows]) => rows > 0);
  const allocated = input.allocations.filter(({ is_part }) => !is_part);
  const leftOut = allocated.reduce((sum, { lives }) => sum + sumOf(lives.n), 0) - labelled.allocationRegions;
  const badWatches = labelled.watches.length - input.watches.length;
  return {
    input,
    metrics,
    labels: [
      ...totals.map((row) => ({
        region_type: String(row.region_type),
        mapping_kind: row.mapping_kind === null || row.mapping_kind === undefined ? null : String(row.mapping_kind),
        regions: Number(row.regions),
        bytes: Number(row.bytes),
        accesses: Number(row.accesses),
      })),
      ...allocated.map((all) => ({
        region_type: "runtime",
        mapping_kind: all.mapping_kind,
        regions: sumOf(all.lives.n),
        bytes: all.peaks_bytes ?? 0,
        accesses: 0,
      })),
    ],
    traceRows: labelled.trace.rows,
    counters: labelled.counters,
    warnings: [
      ...skipped.map(({ path, reason }) => `skipped ${path}: ${reason}`),
      ...left.map(([stream, rows]) => `${rows} rows of ${stream} lack a required value and were left out`),
      ...(leftOut > 0
        ? [
            `region_map.parquet has the ${formatCount(labelled.allocationRegions)} largest allocations; ${formatCount(leftOut)} more are in capture/allocation, and the figures count all`,
          ]
        : []),
      ...(badWatches > 0 ? [`${badWatches} watches cannot be and were left out`] : []),
    ],
  };
}
