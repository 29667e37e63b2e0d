/** How the columns of a stream stand in SQL. */
import { columnsOf, type StreamName } from "../../schema/columns.ts";

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
