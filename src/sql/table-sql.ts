/** How a table of src/schema/columns.ts looks in SQL. */
import { type Column, columnsOf, type TableName } from "../schema/columns.ts";

const SQL_TYPE: Readonly<Record<Column["type"], string>> = {
  u64: "UBIGINT",
  i64: "BIGINT",
  u32: "UINTEGER",
  i32: "INTEGER",
  u16: "USMALLINT",
  u8: "UTINYINT",
  f64: "DOUBLE",
  f32: "FLOAT",
  bool: "BOOLEAN",
  string: "VARCHAR",
};

/** The SQL type of a column. */
export function sqlType(column: Column): string {
  return SQL_TYPE[column.type];
}

/** A relation of the table's columns and no rows. */
export function emptyRelation(table: TableName): string {
  const columns = columnsOf(table).map((column) => `CAST(NULL AS ${sqlType(column)}) AS ${column.name}`);
  return `(SELECT ${columns.join(", ")} WHERE false)`;
}
