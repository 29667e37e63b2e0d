/** A run directory as a comparison needs it: its figures and what they were taken from. */
import { dirname } from "node:path";
import { parquetBatches } from "../columnar/arrow/parquet-batches.ts";
import { fewRows } from "../columnar/read/few-rows.ts";
import { assertRefusal } from "../columnar/read/refusal.ts";
import { MrmTraceError } from "../errors.ts";
import { requireAnalysed } from "../run-directory/analysed-run.ts";
import { readMetadata } from "../run-directory/metadata.ts";
import { runPaths } from "../run-directory/run-directory.ts";
import { analyseCommand } from "../run-directory/shell-words.ts";
import type { RunMetadata } from "../schema/run-metadata.ts";

/** A row of metrics.parquet. */
export type SavedRow = Readonly<Record<string, string | number | null>>;

export interface SavedRun {
  readonly path: string;
  readonly metadata: RunMetadata;
  readonly rows: readonly SavedRow[];
}

function rowsOf(path: string): SavedRow[] {
  const rows: SavedRow[] = [];
  try {
    for (const batch of fewRows(path, parquetBatches(path, "metrics"), ({ numRows }) => numRows)) {
      for (const row of batch.toArray()) {
        const cells = Object.entries<unknown>(row.toJSON()).map(([name, value]) => {
          if (typeof value === "string" || typeof value === "number") return [name, value];
          return [name, typeof value === "bigint" ? Number(value) : null];
        });
        rows.push(Object.fromEntries(cells));
      }
    }
  } catch (cause) {
    if (cause instanceof MrmTraceError) throw cause;
    assertRefusal(cause);
    const hint = `derive the run again: ${analyseCommand(dirname(path))}`;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MrmTraceError("data_quality", why, hint, { cause });
  }
  return rows;
}

/**
 * Reads what `run` or `analyse` derived.
 * @throws MrmTraceError usage where it is no run directory, data_quality where it was not analysed, or its files
 *   cannot be read or have another major schema version
 */
export function readSavedRun(path: string): SavedRun {
  const { metadata, metrics_parquet } = runPaths(path);
  requireAnalysed(path);
  return { path, metadata: readMetadata(metadata).metadata, rows: rowsOf(metrics_parquet) };
}
