/** One cell of a batch, for streams of few rows. */
import { type ColumnData, isStringColumn, NULL_CODE } from "./batch.ts";

/** The figure in a row; null where there is none. Above 2^53 it is rounded. */
export function numberAt(column: ColumnData | undefined, row: number): number | null {
  if (column === undefined || isStringColumn(column) || column.valid?.[row] === 0) return null;
  return Number(column.data[row] ?? 0);
}

/** The text in a row; null where there is none. */
export function textAt(column: ColumnData | undefined, row: number): string | null {
  if (column === undefined || !isStringColumn(column)) return null;
  return column.values[column.codes[row] ?? NULL_CODE] ?? null;
}

/** The whole number in a row, exact; null where there is none. */
export function bigintAt(column: ColumnData | undefined, row: number): bigint | null {
  if (column === undefined || isStringColumn(column) || column.valid?.[row] === 0) return null;
  return BigInt(column.data[row] ?? 0);
}
