/** A Parquet file of ours as Arrow record batches, a bounded number of rows at a time. */
import { createRequire } from "node:module";
import type { RecordBatch } from "apache-arrow";
import { MrmTraceError } from "../../errors.ts";
import type { TableName } from "../../schema/columns.ts";
import { TABLE_KEY } from "../../schema/versions.ts";
import type { Batch } from "../batch.ts";
import { assertRefusal, TooLarge } from "../read/refusal.ts";
import { tableBatches } from "../read/table-batches.ts";
import type { ArrowColumns } from "./record-batches.ts";

/** Arrow takes 12 MiB and a tenth of a second: who reads columns of files that we wrote does without it. */
const load = createRequire(import.meta.url);

/** About one row group of the files that we write. */
export const BATCH_ROWS = 1 << 17;

/** The rows from `offset` on, by the reader that knows every encoding. Holds the bytes of the file. */
function* batchesByWasm<N extends TableName>(path: string, table: N, from: number): Generator<Batch<N>, void, void> {
  const { fromArrow }: typeof import("./from-arrow.ts") = load("./from-arrow.ts");
  const { fileBytes, readRows, unreadable }: typeof import("./wasm-reader.ts") = load("./wasm-reader.ts");
  const bytes = fileBytes(path);
  for (let offset = from; ; offset += BATCH_ROWS) {
    const { arrow, metadata } = readRows(bytes, path, { offset, limit: BATCH_ROWS });
    const named = metadata.get(TABLE_KEY) ?? table;
    if (named !== table) throw unreadable(path, `it holds rows of ${named}`);
    const batch = fromArrow(arrow, table);
    if (typeof batch === "string") throw unreadable(path, batch);
    if (batch.rows > 0) yield batch;
    if (batch.rows < BATCH_ROWS) return;
  }
}

/**
 * Batches of a file in its order; another tool may have written it anew, in an encoding that is not decoded here.
 * @throws as `parquetBatches`
 */
export function* columnBatches<N extends TableName>(path: string, table: N): Generator<Batch<N>, void, void> {
  let given = 0;
  try {
    for (const batch of tableBatches(path, table)) {
      yield batch;
      given += batch.rows;
    }
    return;
  } catch (error) {
    if (error instanceof MrmTraceError) throw error;
    if (error instanceof TooLarge) throw new Error(`cannot read ${path}: ${error.message}`, { cause: error });
    assertRefusal(error);
  }
  yield* batchesByWasm(path, table, given);
}

/**
 * Batches of at most BATCH_ROWS rows, in file order, with every column of `table` in its order; columns that the table
 * does not know are left out, those that the file lacks are null. Decodes as it is asked.
 * @throws Error where the file is missing, damaged or of another table; MrmTraceError data_quality at another major
 *   schema version
 */
export function* parquetBatches<N extends TableName>(
  path: string,
  table: N,
): Generator<RecordBatch<ArrowColumns<N>>, void, void> {
  const { toRecordBatch }: typeof import("./record-batches.ts") = load("./record-batches.ts");
  for (const batch of columnBatches(path, table)) {
    // Its schema is made of the same table of columns as the type.
    const all = toRecordBatch(batch) as unknown as RecordBatch<ArrowColumns<N>>;
    for (let from = 0; from < batch.rows; from += BATCH_ROWS) {
      yield batch.rows <= BATCH_ROWS ? all : all.slice(from, Math.min(batch.rows, from + BATCH_ROWS));
    }
  }
}
