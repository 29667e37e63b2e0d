/** One cell of a batch, for streams of few rows. */
import { type ColumnData, isStringColumn } from "./batch.ts";

/** The figure in a row; null where there is none. Above 2^53 it is rounded. */
export function numberAt(column: ColumnData | undefined, row: number): number | null {
  if (column === undefined || isStringColumn(column) || column.valid?.[row] === 0) return null;
  return Number(column.data[row] ?? 0);
}
