/** The tables of a run for its page: read by columns, without an SQL engine, whose code alone would take as much memory as the page. */
import { dirname } from "node:path";
import { columnBatches } from "../../../columnar/arrow/parquet-batches.ts";
import type { Batch } from "../../../columnar/batch.ts";
import { collectAfter } from "../../../columnar/collect-after.ts";
import { assertRefusal } from "../../../columnar/read/refusal.ts";
import { rowsFromBatch } from "../../../columnar/rows.ts";
import { MrmTraceError } from "../../../errors.ts";
import { analyseCommand } from "../../../run-directory/shell-words.ts";
import type { TableName } from "../../../schema/columns.ts";
import type { RowOf } from "../../../schema/row.ts";

/** About a row group: the columns of a wide table take 30 MB of so many. */
const ROWS_PER_COLLECTION = 1 << 17;

/** What a damaged file of a run is answered with. */
export function unreadable(path: string, error: unknown): MrmTraceError {
  if (error instanceof MrmTraceError) return error;
  assertRefusal(error);
  const why = error instanceof Error ? error.message : String(error);
  return new MrmTraceError(
    "data_quality",
    `${path} cannot be read: ${why}`,
    `derive it again: ${analyseCommand(dirname(path))}`,
    {
      cause: error,
    },
  );
}

/** A file of a table, a row group at a time. @throws MrmTraceError data_quality where it is damaged or of another major version */
export function* batchesOf<N extends TableName>(path: string, table: N): Generator<Batch<N>, void, void> {
  const collect = collectAfter(ROWS_PER_COLLECTION);
  try {
    for (const batch of columnBatches(path, table)) {
      yield batch;
      collect(batch.rows);
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** The rows of a table of few. @throws as `batchesOf` */
export function rowsOf<N extends TableName>(path: string, table: N): RowOf<N>[] {
  return [...batchesOf(path, table)].flatMap(rowsFromBatch);
}
