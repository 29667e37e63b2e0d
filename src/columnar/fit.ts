/** Whether the data given for a column can be its data. */
import { MrmTraceError } from "../errors.ts";
import type { Column, TableName } from "../schema/columns.ts";
import { ARRAY_TYPES } from "./arrays.ts";
import { type ColumnData, isStringColumn } from "./batch.ts";

/**
 * Refuses data of another type than the column's, and data of fewer than `rows` rows.
 *
 * @throws MrmTraceError failure: a batch that does not fit is a defect of its maker
 */
export function assertFits(table: TableName, column: Column, data: ColumnData, rows: number): void {
  const strings = isStringColumn(data);
  const given = strings ? data.codes : data.data;
  if (column.type === "string" ? !strings : strings || !(given instanceof ARRAY_TYPES[column.type])) {
    const received = strings ? "strings" : given.constructor.name;
    throw misfit(table, column, `${received} for ${column.type}`);
  }
  const shortest = Math.min(given.length, strings ? rows : (data.valid?.length ?? rows));
  if (shortest < rows) throw misfit(table, column, `${shortest} values for ${rows} rows`);
}

/** The error for a batch that its table cannot hold. */
export function misfit(table: TableName, column: Column, received: string): MrmTraceError {
  return new MrmTraceError(
    "failure",
    `a batch of ${table} does not fit its table: column ${column.name}: ${received}`,
    "report this as a bug, with the command that was run",
  );
}
