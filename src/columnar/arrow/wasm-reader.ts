/** The rows of Parquet files that this package wrote, decoded by WASM. */
import { createRequire } from "node:module";
import { type Table as ArrowTable, tableFromIPC } from "apache-arrow";
import { readRegularFile } from "../../run-directory/regular-file.ts";
import { refuseOtherMajor } from "../../schema/refuse-version.ts";
import { SCHEMA_VERSION_KEY } from "../../schema/versions.ts";

const load = createRequire(import.meta.url);
const READ_BATCH_ROWS = 1 << 17;
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
 * @throws Error when they are not a Parquet file of ours; MrmTraceError data_quality at another major schema version
 */
export function readRows(bytes: Uint8Array, name: string, range: { offset?: number; limit: number }): ReadRows {
  let arrow: ArrowTable;
  let metadata: ReadonlyMap<string, string>;
  // Loaded when it is needed: it takes 30 MiB, and files of ours are read without it.
  const { readParquet }: typeof import("parquet-wasm") = load("parquet-wasm");
  try {
    const table = readParquet(bytes, { batchSize: READ_BATCH_ROWS, ...range });
    metadata = table.schema.metadata();
    arrow = tableFromIPC(table.intoIPCStream());
  } catch (cause) {
    throw unreadable(name, `it is not a whole Parquet file (${messageOf(cause)})`, cause);
  }
  const version = metadata.get(SCHEMA_VERSION_KEY);
  if (version === undefined) throw unreadable(name, `it has no ${SCHEMA_VERSION_KEY}`);
  refuseOtherMajor(name, version);
  return { arrow, metadata };
}

/** The bytes of a file. @throws Error when it is missing, no regular file, or larger than any of ours */
export function fileBytes(path: string): Uint8Array {
  try {
    return readRegularFile(path, MAX_FILE_BYTES);
  } catch (cause) {
    throw unreadable(path, messageOf(cause), cause);
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

export function unreadable(name: string, why: string, cause?: unknown): Error {
  return new Error(`cannot read ${name}: ${why}`, cause === undefined ? {} : { cause });
}
