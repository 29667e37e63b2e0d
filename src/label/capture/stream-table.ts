/** Small streams (all but accesses and faults) as tables, segment by segment, so that a broken one costs only itself. */
import type { DuckDBValue } from "@duckdb/node-api";
import { columnsOf, type StreamName } from "../../schema/columns.ts";
import { type Database, quote } from "../../sql/database.ts";
import { columnDefinitions } from "../../sql/table-sql.ts";
import { type Capture, reasonOf } from "./capture.ts";

/** SQL that is true for rows in which every required column has a value. */
export function completeRow(stream: StreamName): string {
  return columnsOf(stream)
    .filter((column) => column.nullable !== true)
    .map((column) => `${column.name} IS NOT NULL`)
    .join(" AND ");
}

/** Columns of the stream as a select list. */
export function columnList(stream: StreamName): string {
  return columnsOf(stream)
    .map((column) => column.name)
    .join(", ");
}

/**
 * Reads the rows of a stream in order of time; rows that lack a required value are left out and counted.
 * A segment whose pages cannot be read is added to `capture.skipped`.
 */
export async function readStreamRows(
  database: Database,
  capture: Capture,
  stream: StreamName,
): Promise<{ readonly rows: Record<string, DuckDBValue>[]; readonly incomplete: number }> {
  const table = `capture_${stream}`;
  await database.run(`CREATE OR REPLACE TABLE ${table} (${columnDefinitions(stream)})`);
  let seen = 0;
  for (const segment of capture.segments[stream]) {
    try {
      const from = `SELECT ${segment.columns.join(", ")} FROM read_parquet(${quote(segment.path)})`;
      await database.run(`INSERT INTO ${table} BY NAME ${from}`);
      seen += segment.rows;
    } catch (error) {
      capture.skipped.push({ stream, path: segment.path, rows: segment.rows, reason: reasonOf(error) });
    }
  }
  const rows = await database.rows(`SELECT * FROM ${table} WHERE ${completeRow(stream)} ORDER BY timestamp_ns, rowid`);
  return { rows, incomplete: seen - rows.length };
}
