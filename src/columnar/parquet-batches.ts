/** A Parquet file of ours as Arrow record batches, a bounded number of rows at a time. */
import type { RecordBatch } from "apache-arrow";
import type { TableName } from "../schema/columns.ts";
import { TABLE_KEY } from "../schema/versions.ts";
import { type ArrowColumns, toRecordBatch } from "./arrow.ts";
import { fromArrow } from "./from-arrow.ts";
import { fileBytes, readRows, unreadable } from "./parquet.ts";

/** About one row group of the files that we write. */
export const BATCH_ROWS = 1 << 17;

/**
 * Batches of at most BATCH_ROWS rows, in file order, with every column of `table` in its order; columns that the table
 * does not know are left out, those that the file lacks are null. Holds the bytes of the file, decodes as it is asked.
 * @throws Error where the file is missing, damaged or of another table; MrmTraceError data_quality at another major
 *   schema version
 */
export function* parquetBatches<N extends TableName>(
  path: string,
  table: N,
): Generator<RecordBatch<ArrowColumns<N>>, void, void> {
  const bytes = fileBytes(path);
  for (let offset = 0; ; offset += BATCH_ROWS) {
    const { arrow, metadata } = readRows(bytes, path, { offset, limit: BATCH_ROWS });
    // Derived files carry no name: their columns say what they are.
    const named = metadata.get(TABLE_KEY) ?? table;
    if (named !== table) throw unreadable(path, `it holds rows of ${named}`);
    const batch = fromArrow(arrow, table);
    if (typeof batch === "string") throw unreadable(path, batch);
    // Its schema is made of the same table of columns as the type.
    if (batch.rows > 0) yield toRecordBatch(batch) as unknown as RecordBatch<ArrowColumns<N>>;
    if (batch.rows < BATCH_ROWS) return;
  }
}
