/** A batch over memory that is used again becomes one that its taker may keep. */

import type { TableName } from "../schema/columns.ts";
import { type Batch, type ColumnData, isStringColumn } from "./batch.ts";

function copyOf(column: ColumnData): ColumnData {
  if (isStringColumn(column)) return { codes: column.codes.slice(), values: column.values };
  return column.valid === undefined
    ? { data: column.data.slice() }
    : { data: column.data.slice(), valid: column.valid.slice() };
}

/** The same rows in memory of their own. */
export function ownBatch<T extends TableName>(batch: Batch<T>): Batch<T> {
  const columns = Object.entries(batch.columns).map(([name, column]) => [name, copyOf(column)] as const);
  return { ...batch, columns: Object.fromEntries(columns) };
}
