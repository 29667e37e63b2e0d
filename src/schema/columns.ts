/**
 * THE table of columns: every stream and every derived file, each column once.
 * The C header, the Arrow schemas, the Parquet metadata and docs/columns.md are generated from it.
 */
import { CAPTURE_TABLES } from "./capture-tables.ts";
import type { Column, Table } from "./column.ts";
import { DERIVED_TABLES } from "./derived/derived-tables.ts";
import { RING_TABLES } from "./ring-tables.ts";

export type { Column, ColumnType, Table } from "./column.ts";

export const TABLES = { ...CAPTURE_TABLES, ...RING_TABLES, ...DERIVED_TABLES } as const satisfies Record<string, Table>;

export type TableName = keyof typeof TABLES;

export type StreamName = keyof typeof CAPTURE_TABLES;

/** Streams below capture/. */
export const STREAMS = Object.keys(CAPTURE_TABLES) as readonly StreamName[];

/** The columns of a table, in file order. */
export function columnsOf(table: TableName): readonly Column[] {
  return TABLES[table].columns;
}
