/** Rows as plain objects to a batch and back: for streams of few rows, never for the hot path. */

import { type Column, columnsOf, type TableName } from "../schema/columns.ts";
import type { RowOf } from "../schema/row.ts";
import { ARRAY_TYPES } from "./arrays.ts";
import { type Batch, type ColumnData, isStringColumn, NULL_CODE } from "./batch.ts";

type Cell = string | number | bigint | boolean | null;
/** A row by the names of its columns, which the type of a table that is not known here does not give. */
type Cells = Readonly<Record<string, Cell>>;

function stringColumn(rows: readonly Cells[], name: string): ColumnData {
  const codes = new Uint32Array(rows.length);
  const values: string[] = [];
  const codeOf = new Map<string, number>();
  for (const [i, row] of rows.entries()) {
    const value = row[name];
    if (value === null || value === undefined) {
      codes[i] = NULL_CODE;
      continue;
    }
    const text = String(value);
    let code = codeOf.get(text);
    if (code === undefined) {
      code = values.length;
      codeOf.set(text, code);
      values.push(text);
    }
    codes[i] = code;
  }
  return { codes, values };
}

function numberColumn(rows: readonly Cells[], column: Column): ColumnData {
  const type = column.type === "string" ? "u8" : column.type;
  const data = new ARRAY_TYPES[type](rows.length);
  const valid = new Uint8Array(rows.length);
  let nulls = 0;
  for (const [i, row] of rows.entries()) {
    const value = row[column.name];
    if (value === null || value === undefined) {
      nulls += 1;
      continue;
    }
    valid[i] = 1;
    if (data instanceof BigUint64Array || data instanceof BigInt64Array) data[i] = BigInt(value);
    else data[i] = Number(value);
  }
  return nulls === 0 ? { data } : { data, valid };
}

/** A batch with every column of the table. */
export function batchFromRows<T extends TableName>(table: T, rows: readonly RowOf<T>[]): Batch<T> {
  const cells = rows as readonly Cells[];
  const columns: Record<string, ColumnData> = {};
  for (const column of columnsOf(table)) {
    columns[column.name] = column.type === "string" ? stringColumn(cells, column.name) : numberColumn(cells, column);
  }
  return { table, rows: rows.length, columns };
}

function cellOf(column: ColumnData | undefined, type: Column["type"], row: number): Cell {
  if (column === undefined) return null;
  if (isStringColumn(column)) return column.values[column.codes[row] ?? NULL_CODE] ?? null;
  if (column.valid?.[row] === 0) return null;
  const value = column.data[row] ?? null;
  return type === "bool" && value !== null ? value !== 0 : value;
}

/** Gives single rows of a batch, each with every column of its table. */
export function rowReader<T extends TableName>({ table, columns }: Batch<T>): (row: number) => RowOf<T> {
  const all = columnsOf(table).map(({ name, type }) => ({ name, type, data: columns[name] }));
  return (row) => {
    const cells: Record<string, Cell> = {};
    for (const { name, type, data } of all) cells[name] = cellOf(data, type, row);
    // The table of columns is what the type is made of.
    return cells as RowOf<T>;
  };
}

/** The rows of a batch, each with every column of its table. */
export function rowsFromBatch<T extends TableName>(batch: Batch<T>): RowOf<T>[] {
  const rowAt = rowReader(batch);
  return Array.from({ length: batch.rows }, (_, row) => rowAt(row));
}
