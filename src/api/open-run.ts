/** A run directory, opened for programs: what it says of itself, and its tables as Arrow. */
import { createRequire } from "node:module";
import { resolve } from "node:path";
import type { RecordBatch, Table } from "apache-arrow";
import type { MetricRow } from "../analyse/figures/metric-row.ts";
import { columnBatches, parquetBatches } from "../columnar/arrow/parquet-batches.ts";
import type { ArrowColumns } from "../columnar/arrow/record-batches.ts";
import { fewRows } from "../columnar/read/few-rows.ts";
import { assertRefusal } from "../columnar/read/refusal.ts";
import { rowsFromBatch } from "../columnar/rows.ts";
import { MrmTraceError } from "../errors.ts";
import { requireAnalysed } from "../run-directory/analysed-run.ts";
import { readMetadata } from "../run-directory/metadata.ts";
import { runPaths } from "../run-directory/run-directory.ts";
import { isStream, type RunTable, tableFiles } from "../run-directory/table-files.ts";
import type { LedgerRow } from "../schema/ledger.ts";
import type { RowOf } from "../schema/row.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";

const load = createRequire(import.meta.url);

export type { RunTable } from "../run-directory/table-files.ts";

export interface OpenedRun extends Disposable {
  /** Absolute. */
  readonly runDir: string;
  readonly metadata: RunMetadata;
  /** What every path of events saw, kept, filtered and dropped: `seen = kept + filtered + dropped`. */
  readonly ledger: readonly LedgerRow[];
  /** Segments below capture/ that could not be read so far, each with the reason; their rows are missing. */
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
  /** Every figure of the run. */
  metrics(): MetricRow[];
  /**
   * A whole table in memory; without rows where the run has none. u64 and i64 columns give bigint.
   * @throws MrmTraceError data_quality (a derived file is missing or damaged, or another schema version), usage (closed)
   */
  table<N extends RunTable>(name: N): Table<ArrowColumns<N>>;
  /** The same rows, at most 131,072 at a time, for tables that are larger than memory. @throws as `table` */
  batches<N extends RunTable>(name: N): Generator<RecordBatch<ArrowColumns<N>>, void, void>;
  /** Ends every loop over `batches` that goes on, with an error; tables that were given stay as they are. */
  close(): void;
}

/**
 * Opens a run directory that `run` or `analyse` has finished; reads nothing but metadata.json until a table is asked for.
 * @throws MrmTraceError usage (no folder of a run), data_quality (it was not analysed, is damaged, or was written by another
 *   major version)
 */
export function openRun(dir: string): OpenedRun {
  requireAnalysed(dir);
  const runDir = resolve(dir);
  const { metadata, ledger } = readMetadata(runPaths(runDir).metadata);
  const unreadable: { path: string; reason: string }[] = [];
  let closed = false;

  function requireOpen(): void {
    if (closed) throw new MrmTraceError("usage", `${runDir} was closed`, "open it again with openRun");
  }

  /** What the files of a table hold, as one of the readers gives it. */
  function* read<N extends RunTable, B>(
    name: N,
    reader: (path: string, table: N) => Generator<B, void, void>,
  ): Generator<B, void, void> {
    requireOpen();
    for (const path of tableFiles(runDir, name)) {
      try {
        for (const batch of reader(path, name)) {
          yield batch;
          requireOpen();
        }
      } catch (error) {
        if (error instanceof MrmTraceError) throw error;
        assertRefusal(error);
        const reason = error instanceof Error ? error.message : String(error);
        if (!isStream(name)) throw new MrmTraceError("data_quality", reason, `run: mrm-trace analyse ${runDir}`);
        if (!unreadable.some((other) => other.path === path)) unreadable.push({ path, reason });
      }
    }
  }

  const figures = (path: string, table: "metrics") => fewRows(path, columnBatches(path, table), ({ rows }) => rows);

  const batches: OpenedRun["batches"] = (name) => read(name, parquetBatches);

  function table<N extends RunTable>(name: N): Table<ArrowColumns<N>> {
    // Loaded when a table is asked for: most who open a run want its figures only. By our own file, as a package that is
    // required directly would be another copy than the one that is imported.
    const { wholeTable }: typeof import("../columnar/arrow/whole-table.ts") = load("../columnar/arrow/whole-table.ts");
    return wholeTable(name, [...batches(name)]);
  }

  function close(): void {
    closed = true;
  }

  return {
    runDir,
    metadata,
    ledger,
    unreadable,
    table,
    batches,
    metrics: () => [...read("metrics", figures)].flatMap(rowsFromBatch).map(metricRow),
    close,
    [Symbol.dispose]: close,
  };
}

/** Counts of metrics.parquet are u64; they count samples and ns of a run, which a number holds. */
function metricRow(row: RowOf<"metrics">): MetricRow {
  const plain: Record<string, unknown> = { ...row };
  for (const [name, value] of Object.entries(plain)) if (typeof value === "bigint") plain[name] = Number(value);
  // The columns of the table are the fields of a MetricRow.
  return plain as unknown as MetricRow;
}
