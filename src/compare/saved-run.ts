/** A run directory as a comparison needs it: its figures and what they were taken from. */
import { existsSync } from "node:fs";
import { parquetBatches } from "../columnar/arrow/parquet-batches.ts";
import { assertRefusal } from "../columnar/read/refusal.ts";
import { MrmTraceError } from "../errors.ts";
import { readMetadata } from "../run-directory/metadata.ts";
import { runPaths } from "../run-directory/run-directory.ts";
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
    for (const batch of parquetBatches(path, "metrics")) {
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
    const hint = "derive the run again: mrm-trace analyse RUN_DIR";
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MrmTraceError("data_quality", why, hint, { cause });
  }
  return rows;
}

/**
 * Reads what `run` or `analyse` derived.
 * @throws MrmTraceError usage where it is no run directory, data_quality where its files cannot be read or have another
 *   major schema version
 */
export function readSavedRun(path: string): SavedRun {
  const { metadata, metrics_parquet } = runPaths(path);
  if (!existsSync(metadata) || !existsSync(metrics_parquet)) {
    throw new MrmTraceError(
      "usage",
      `${path} is no run directory with metrics`,
      "name folders such as results/MODEL/RUN_ID; derive one that was cut short: mrm-trace analyse RUN_DIR",
    );
  }
  return { path, metadata: readMetadata(metadata).metadata, rows: rowsOf(metrics_parquet) };
}
