/** Small streams (all but accesses and faults) as rows, segment by segment, so that a broken one costs only itself. */
import type { DuckDBValue } from "@duckdb/node-api";
import { assertRefusal } from "../../columnar/read/refusal.ts";
import { tableBatches } from "../../columnar/read/table-batches.ts";
import { rowsFromBatch } from "../../columnar/rows.ts";
import { MrmTraceError } from "../../errors.ts";
import { columnsOf, type StreamName } from "../../schema/columns.ts";
import type { RowOf } from "../../schema/row.ts";
import { type Database, parquetScan } from "../../sql/database.ts";
import { type Capture, reasonOf, type Segment } from "./capture.ts";
import { completeRow } from "./stream-columns-sql.ts";

const BIG = new Set(["u64", "i64"]);

/** Values in the types of the stream: bigint for 64 bits, number for others, text; null where there is none. */
function typed<S extends StreamName>(row: Readonly<Record<string, DuckDBValue>>, stream: S): RowOf<S> {
  const out: Record<string, DuckDBValue> = {};
  for (const column of columnsOf(stream)) {
    const value = row[column.name];
    if (value === null || value === undefined) out[column.name] = null;
    else if (column.type === "string") out[column.name] = String(value);
    else if (column.type === "bool") out[column.name] = Boolean(value);
    else out[column.name] = BIG.has(column.type) ? value : Number(value);
  }
  return out as RowOf<S>;
}

/** The rows of a segment as it was written here; null where only the SQL engine reads it, or nobody. */
function scannedRows<S extends StreamName>(path: string, stream: S): RowOf<S>[] | null {
  try {
    const rows: RowOf<S>[] = [];
    for (const batch of tableBatches(path, stream)) for (const row of rowsFromBatch(batch)) rows.push(row);
    return rows;
  } catch (error) {
    if (error instanceof MrmTraceError) throw error;
    assertRefusal(error);
    return null;
  }
}

/** The complete rows of a segment in an encoding, or with gaps, that the scan refuses. */
export async function queriedRows<S extends StreamName>(
  database: Database,
  segment: Segment,
  stream: S,
): Promise<RowOf<S>[]> {
  const rows = await database.rows(
    `SELECT ${segment.columns.join(", ")} FROM ${parquetScan([segment.path])} WHERE ${completeRow(stream)}`,
  );
  return rows.map((row) => typed(row, stream));
}

/**
 * Reads the rows of a stream in order of time; rows that lack a required value are left out and counted. A word that
 * the table does not list may stand where the type says otherwise.
 * A segment whose pages cannot be read is added to `capture.skipped`.
 */
export async function readStreamRows<S extends StreamName>(
  database: Database,
  capture: Capture,
  stream: S,
): Promise<{ readonly rows: RowOf<S>[]; readonly incomplete: number }> {
  const rows: RowOf<S>[] = [];
  let incomplete = 0;
  for (const segment of capture.segments[stream]) {
    try {
      const read = scannedRows(segment.path, stream) ?? (await queriedRows(database, segment, stream));
      for (const row of read) rows.push(row);
      incomplete += segment.rows - read.length;
    } catch (error) {
      if (error instanceof MrmTraceError) throw error;
      capture.skipped.push({ stream, path: segment.path, rows: segment.rows, reason: reasonOf(error) });
    }
  }
  return { rows: rows.sort(byTime), incomplete };
}

/** Rows of one time stay in the order in which they were written. */
function byTime(left: { readonly timestamp_ns?: unknown }, right: { readonly timestamp_ns?: unknown }): number {
  const [a, b] = [left.timestamp_ns as bigint, right.timestamp_ns as bigint];
  return a < b ? -1 : a > b ? 1 : 0;
}
