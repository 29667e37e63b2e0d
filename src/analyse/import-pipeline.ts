/** Everything that is derived from a labelled trace that was recorded elsewhere: reduce, estimate, write. */
import { join } from "node:path";
import { openTraceFile } from "../label/trace/trace-file.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import { type Database, openDatabase } from "../sql/database.ts";
import { streamRegions } from "./by-region/stream-regions.ts";
import { writeRegionMetrics } from "./by-region/write-region-metrics.ts";
import { writeCurves } from "./curves/write-curves.ts";
import { estimate } from "./estimate.ts";
import { writeMetrics } from "./figures/write-metrics.ts";
import { writeHeat } from "./heat/write-heat.ts";
import type { AnalysisInput } from "./input/input.ts";
import type { RecordedFacts } from "./input/load.ts";
import { noRegions } from "./input/region-set.ts";
import type { AnalysisResult } from "./pipeline.ts";
import { reduceTrace } from "./stream/reduce.ts";
import { IMPORT, NO_PERIOD } from "./stream/stream-figures.ts";

/** What an import left out. */
export interface ImportCounters {
  readonly incomplete: Readonly<Record<string, number>>;
}

const PAGE_BYTES = 4096;
/** The SQL engine decodes what this package does not, and sorts what is out of order. */
const IMPORT_MEMORY_BYTES = 256 * 2 ** 20;

/** The SQL engine for those traces that need it: opening it takes longer than reading a small one. */
function engineOnUse(runDir: string): AsyncDisposable & { database(): Promise<Database> } {
  let opened: Promise<Database> | null = null;
  return {
    database() {
      opened ??= openDatabase({
        threads: 1,
        memoryLimitBytes: IMPORT_MEMORY_BYTES,
        spillFolder: join(runDir, ".spill.unfinished"),
      });
      return opened;
    },
    async [Symbol.asyncDispose]() {
      if (opened !== null) await (await opened)[Symbol.asyncDispose]();
    },
  };
}

/** What the ledger says of rows without an address or a time: they are accesses of some class, which no figure has. */
function lostRows(seen: number, incomplete: number): LedgerRow[] {
  if (incomplete === 0) return [];
  const counts = { seen, kept: seen - incomplete, filtered: 0, dropped: incomplete, dropped_by: { incomplete } };
  return [
    { stream: "access", source: IMPORT, stage: "decode", way: null, pid: null, ...counts, unseen_estimate: null },
  ];
}

/**
 * Derives metrics.parquet, region_metrics.parquet, curves.parquet and heat.parquet of a run directory from a labelled trace that was recorded elsewhere. The trace keeps its
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
  await using engine = engineOnUse(runDir);
  const file = await openTraceFile(engine.database, trace);
  const reduced = await reduceTrace(engine.database, file, period);
  const incomplete = file.rows - reduced.rows;
  const input: AnalysisInput = {
    ...facts,
    ledger: [...facts.ledger, ...lostRows(file.rows, incomplete)],
    t0_ns: reduced.origin_ns,
    window_ns: reduced.window_ns,
    watches: [],
    regions: noRegions(),
    steps: [],
    kvRows: [],
    kvUntold: null,
    kvWritesUntold: null,
    accessSums: reduced.sums,
    allocations: [],
    streams: reduced.streams,
    counts: null,
  };
  const { metrics, curves } = estimate(input, null);
  writeMetrics(runDir, metrics);
  writeCurves(runDir, curves);
  writeRegionMetrics(runDir, streamRegions(input, reduced.regionSums));
  writeHeat(runDir, reduced.heat, [IMPORT], reduced.origin_ns);
  return {
    input,
    metrics,
    moreTime: null,
    invariance: null,
    labels: reduced.sums.map(({ region_type, rows, seen }) => ({
      region_type,
      mapping_kind: null,
      regions: reduced.regions.get(region_type) ?? 0,
      bytes: (seen.find(({ grain_bytes }) => grain_bytes === PAGE_BYTES)?.distinct ?? 0) * PAGE_BYTES,
      bytes_are: "touched" as const,
      access_rows: rows,
    })),
    requests: null,
    traceRows: reduced.rows,
    allocationSites: null,
    engines: [],
    counters: { incomplete: { access: incomplete } },
    warnings: [
      "an import has no mappings: the bytes of a class are those of the 4 KiB pages that its accesses touch",
      ...(period === null ? [NO_PERIOD] : []),
      ...(reduced.areRegionsWhole
        ? []
        : [`region_metrics.parquet has the first ${reduced.regionSums.length} regions of the trace, which has more`]),
      ...(incomplete > 0 ? [`${incomplete} rows of the trace lack an address or a time and were left out`] : []),
    ],
  };
}
