/** The rows of Parquet files that this package wrote, decoded by WASM. */
import { readFileSync, statSync } from "node:fs";
import { type Table as ArrowTable, tableFromIPC } from "apache-arrow";
import { readParquet } from "parquet-wasm";
import { MrmTraceError } from "../errors.ts";
import { TABLES, type TableName } from "../schema/columns.ts";
import { PARQUET_SCHEMA_VERSION, SCHEMA_VERSION_KEY, TABLE_KEY } from "../schema/versions.ts";
import type { Batch } from "./batch.ts";
import { fromArrow } from "./from-arrow.ts";

const READ_BATCH_ROWS = 1 << 17;
/** A file that claims more is refused: a few hostile bytes can claim any number of rows. */
const MAX_ROWS = 1 << 24;
const MAX_FILE_BYTES = 2 ** 30;

/** What a file says of itself, and its rows or those that were asked for. */
export interface ReadRows {
  readonly arrow: ArrowTable;
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Rows of a file's bytes, after its schema version was checked.
 *
 * @param name what messages call the bytes
 * @param range rows to leave out at the start, and how many to read at most
 * @throws MrmTraceError data_quality when they are not a Parquet file of ours; environment when they are of another
 *   major schema version, which another mrm-trace reads
 */
export function readRows(bytes: Uint8Array, name: string, range: { offset?: number; limit: number }): ReadRows {
  let arrow: ArrowTable;
  let metadata: ReadonlyMap<string, string>;
  try {
    const table = readParquet(bytes, { batchSize: READ_BATCH_ROWS, ...range });
    metadata = table.schema.metadata();
    arrow = tableFromIPC(table.intoIPCStream());
  } catch (cause) {
    throw unreadable(name, `it is not a whole Parquet file (${messageOf(cause)})`, cause);
  }
  const version = metadata.get(SCHEMA_VERSION_KEY);
  if (version === undefined) throw unreadable(name, `it has no ${SCHEMA_VERSION_KEY}`);
  if (major(version) !== major(PARQUET_SCHEMA_VERSION)) {
    throw new MrmTraceError(
      "environment",
      `${name} has schema version ${version}; this mrm-trace reads ${PARQUET_SCHEMA_VERSION}`,
      `read it with the mrm-trace whose schema version is ${major(version)}.x, or record the run again`,
    );
  }
  return { arrow, metadata };
}

/**
 * The rows of a file's bytes as one batch.
 *
 * @param name what messages call the bytes
 * @throws MrmTraceError as `readRows`, and data_quality when they are of no table of ours
 */
export function decodeParquet(bytes: Uint8Array, name: string): Batch {
  const { arrow, metadata } = readRows(bytes, name, { limit: MAX_ROWS + 1 });
  const table = metadata.get(TABLE_KEY) ?? "";
  if (!isTableName(table)) throw unreadable(name, `its ${TABLE_KEY} is "${table}"`);
  if (arrow.numRows > MAX_ROWS) throw unreadable(name, `it claims more than ${MAX_ROWS} rows`);
  const batch = fromArrow(arrow, table);
  if (typeof batch === "string") throw unreadable(name, batch);
  return batch;
}

/**
 * Reads one Parquet file that this package wrote.
 *
 * @throws MrmTraceError data_quality when it is missing, truncated or hostile; environment when it is of another major
 *   schema version
 */
export function readParquetFile(path: string): Batch {
  return decodeParquet(fileBytes(path), path);
}

/** The bytes of a file. @throws MrmTraceError data_quality when it is missing or larger than any of ours */
export function fileBytes(path: string): Uint8Array {
  try {
    const size = statSync(path).size;
    if (size > MAX_FILE_BYTES) throw new Error(`${size} bytes are more than ${MAX_FILE_BYTES}`);
    return readFileSync(path);
  } catch (cause) {
    throw unreadable(path, messageOf(cause), cause);
  }
}

function isTableName(name: string): name is TableName {
  return Object.hasOwn(TABLES, name);
}

function major(version: string): string {
  return version.split(".", 1)[0] ?? "";
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

export function unreadable(name: string, why: string, cause?: unknown): MrmTraceError {
  return new MrmTraceError(
    "data_quality",
    `cannot read ${name}: ${why}`,
    "leave the file out, or record the run again",
    cause === undefined ? {} : { cause },
  );
}
