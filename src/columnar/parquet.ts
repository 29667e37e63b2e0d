/** Batches to and from zstd Parquet, encoded in this process by WASM; the choice of encodings is docs/decisions/001. */
import { readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { type Table as ArrowTable, RecordBatchStreamWriter, tableFromIPC } from "apache-arrow";
import {
  Compression,
  EnabledStatistics,
  Encoding,
  readParquet,
  Table,
  type WriterProperties,
  WriterPropertiesBuilder,
  WriterVersion,
  writeParquet,
} from "parquet-wasm";
import { MrmTraceError } from "../errors.ts";
import { type Column, columnsOf, TABLES, type TableName } from "../schema/columns.ts";
import { PARQUET_SCHEMA_VERSION, SCHEMA_VERSION_KEY } from "../schema/versions.ts";
import { schemaMetadata, TABLE_KEY, toRecordBatch } from "./arrow.ts";
import type { Batch } from "./batch.ts";
import { fromArrow } from "./from-arrow.ts";

const PAGE_BYTES = 1 << 20;
const WRITE_BATCH_ROWS = 8192;
const READ_BATCH_ROWS = 1 << 17;
/** A file that claims more is refused: a few hostile bytes can claim any number of rows. */
const MAX_ROWS = 1 << 24;
const MAX_FILE_BYTES = 2 ** 30;

/** How the values of a column are laid out; every choice is one that pyarrow and DuckDB read. */
function encodingOf(column: Column): "dictionary" | Encoding | "default" {
  if (column.type === "string" || column.name === "ip") return "dictionary";
  if (column.type === "bool" || column.type === "f64" || column.type === "f32") return "default";
  // Addresses jump: their differences are wider than what zstd finds in the plain words.
  return column.unit === "address" ? Encoding.PLAIN : Encoding.DELTA_BINARY_PACKED;
}

function writerProperties(table: TableName, keyValues: ReadonlyMap<string, string>): WriterProperties {
  let builder = new WriterPropertiesBuilder()
    .setWriterVersion(WriterVersion.V2)
    .setCompression(Compression.ZSTD)
    .setStatisticsEnabled(EnabledStatistics.None)
    .setDictionaryEnabled(false)
    .setDataPageSizeLimit(PAGE_BYTES)
    .setWriteBatchSize(WRITE_BATCH_ROWS)
    .setMaxRowGroupSize(MAX_ROWS)
    .setKeyValueMetadata(new Map([...schemaMetadata(table), ...keyValues]));
  for (const column of columnsOf(table)) {
    const encoding = encodingOf(column);
    if (encoding === "dictionary") builder = builder.setColumnDictionaryEnabled(column.name, true);
    else if (encoding !== "default") builder = builder.setColumnEncoding(column.name, encoding);
    if (column.name === "timestamp_ns") {
      builder = builder.setColumnStatisticsEnabled(column.name, EnabledStatistics.Chunk);
    }
  }
  return builder.build();
}

/**
 * The rows of `batches`, in order, as the bytes of one Parquet file with one row group.
 *
 * @param keyValues metadata of the file beside its schema version and table name
 * @throws MrmTraceError failure when a batch does not fit `table`
 */
export function encodeParquet(
  table: TableName,
  batches: readonly Batch[],
  keyValues: ReadonlyMap<string, string> = new Map(),
): Uint8Array {
  const filled = batches.length > 0 ? batches : [{ table, rows: 0, columns: {} }];
  const ipc = RecordBatchStreamWriter.writeAll(filled.map(toRecordBatch)).toUint8Array(true);
  return writeParquet(Table.fromIPCStream(ipc), writerProperties(table, keyValues));
}

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
 * Writes one Parquet file, mode 0600, under a temporary name, and renames it.
 *
 * @returns bytes written
 * @throws MrmTraceError failure; its cause has the errno in `code`. Nothing is left behind.
 */
export function writeParquetFile(
  path: string,
  table: TableName,
  batches: readonly Batch[],
  keyValues: ReadonlyMap<string, string> = new Map(),
): number {
  const bytes = encodeParquet(table, batches, keyValues);
  const partial = `${path}.partial`;
  try {
    // The mode is honoured only for a file that the call creates.
    removeIfThere(partial);
    writeFileSync(partial, bytes, { mode: 0o600, flag: "wx" });
    renameSync(partial, path);
  } catch (cause) {
    try {
      removeIfThere(partial);
    } catch {
      // The message below names the first failure, which is the one to fix.
    }
    throw new MrmTraceError(
      "failure",
      `cannot write ${path}: ${messageOf(cause)}`,
      "free some space, or name another folder with --output",
      { cause },
    );
  }
  return bytes.length;
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

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
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
