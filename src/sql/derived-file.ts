/** Derived files: written under a temporary name, then put in place in one step, readable by their owner alone. */
import { chmod, rename, rm } from "node:fs/promises";
import { DuckDBDataChunk, type DuckDBValue } from "@duckdb/node-api";
import type { TableName } from "../schema/columns.ts";
import { columnsOf } from "../schema/columns.ts";
import { PARQUET_SCHEMA_VERSION, SCHEMA_VERSION_KEY } from "../schema/versions.ts";
import { type Database, quote } from "./database.ts";
import { columnDefinitions } from "./table-sql.ts";

const ROW_GROUP_ROWS = 122_880;
const APPEND_ROWS = 2048;

/** Suffix of a file that is not finished; readers never look at it. */
export const UNFINISHED = ".unfinished";

/** Writes a query to a Parquet file: zstd, our schema version, mode 0600, atomically. */
export async function copyToParquet(database: Database, select: string, path: string): Promise<void> {
  const temporary = `${path}${UNFINISHED}`;
  try {
    await database.run(
      `COPY (${select}) TO ${quote(temporary)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, KV_METADATA {${SCHEMA_VERSION_KEY}: ${quote(PARQUET_SCHEMA_VERSION)}})`,
    );
    await chmod(temporary, 0o600);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Rows of a table: one object per row, absent keys are null; 64-bit columns take bigint. */
export type TableRow = Readonly<Record<string, DuckDBValue>>;

/** Appends columns of equal length to an SQL table, in its column order. */
export async function appendColumns(
  database: Database,
  name: string,
  columns: readonly (readonly DuckDBValue[])[],
): Promise<void> {
  const appender = await database.connection.createAppender(name);
  const types = columns.map((_, index) => appender.columnType(index));
  const rows = columns[0]?.length ?? 0;
  for (let from = 0; from < rows; from += APPEND_ROWS) {
    const chunk = DuckDBDataChunk.create(types);
    chunk.setColumns(columns.map((column) => column.slice(from, from + APPEND_ROWS)));
    appender.appendDataChunk(chunk);
  }
  appender.closeSync();
}

/** Creates an SQL table with the columns of `table` and fills it. */
export async function fillTable(
  database: Database,
  name: string,
  table: TableName,
  rows: readonly TableRow[],
): Promise<void> {
  await database.run(`CREATE OR REPLACE TABLE ${name} (${columnDefinitions(table)})`);
  const columns = columnsOf(table).map((column) => rows.map((row) => row[column.name] ?? null));
  await appendColumns(database, name, columns);
}
