/** A finished run as exports read it: what it says of itself, and the rows of its tables, a piece at a time. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { columnBatches } from "../columnar/arrow/parquet-batches.ts";
import type { Batch } from "../columnar/batch.ts";
import { openParquetSource } from "../columnar/read/parquet-file.ts";
import { assertRefusal } from "../columnar/read/refusal.ts";
import { rowsFromBatch } from "../columnar/rows.ts";
import { MrmTraceError } from "../errors.ts";
import { requireAnalysed } from "../run-directory/analysed-run.ts";
import { readMetadata } from "../run-directory/metadata.ts";
import { runPaths } from "../run-directory/run-directory.ts";
import { isStream, RUN_TABLES, type RunTable, tableFiles } from "../run-directory/table-files.ts";
import type { RowOf } from "../schema/row.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";

export interface RunSource {
  /** Absolute. */
  readonly runDir: string;
  readonly metadata: RunMetadata;
  /** Those that have a file. */
  readonly tables: readonly RunTable[];
  /** Segments below capture/ that could not be read so far: their rows are missing. */
  readonly unreadable: ReadonlySet<string>;
  /** Rows of a table, by the footers that can be read. */
  countRows(name: RunTable): number;
  /** The rows of a table in the order of its files; none where the run has no such table. @throws MrmTraceError data_quality where a derived file is damaged */
  batches<N extends RunTable>(name: N): Generator<Batch<N>, void, void>;
  /** The same as objects, for tables of few rows. @throws as `batches` */
  rows<N extends RunTable>(name: N): Generator<RowOf<N>, void, void>;
}

/**
 * Opens a run that was analysed; reads its metadata alone.
 * @param typed the folder, as the user typed it
 * @throws MrmTraceError usage (no run), data_quality (not analysed, damaged, or of another major version)
 */
export function openSource(typed: string): RunSource {
  requireAnalysed(typed);
  const runDir = resolve(typed);
  const { metadata } = readMetadata(runPaths(runDir).metadata);
  const tables = RUN_TABLES.filter((name) => tableFiles(runDir, name).some((path) => existsSync(path)));
  const unreadable = new Set<string>();

  function* batches<N extends RunTable>(name: N): Generator<Batch<N>, void, void> {
    if (!tables.includes(name)) return;
    for (const path of tableFiles(runDir, name)) {
      try {
        yield* columnBatches(path, name);
      } catch (error) {
        if (error instanceof MrmTraceError) throw error;
        assertRefusal(error);
        if (isStream(name)) unreadable.add(path);
        else {
          const why = error instanceof Error ? error.message : String(error);
          throw new MrmTraceError("data_quality", `${path} cannot be read: ${why}`, `run: mrm-trace analyse ${typed}`);
        }
      }
    }
  }

  return {
    runDir,
    metadata,
    tables,
    unreadable,
    batches,
    countRows(name) {
      let rows = 0;
      for (const path of tableFiles(runDir, name)) {
        try {
          using source = openParquetSource(path);
          rows += source.footer.rows;
        } catch (error) {
          // Whoever reads its rows says that they are missing.
          assertRefusal(error);
        }
      }
      return rows;
    },
    *rows(name) {
      for (const batch of batches(name)) yield* rowsFromBatch(batch);
    },
  };
}
