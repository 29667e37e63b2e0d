/** Random batches of any table, and their comparison. */
import fc from "fast-check";
import { ARRAY_TYPES } from "../../../src/columnar/arrays.ts";
import { type Batch, type ColumnData, isStringColumn, NULL_CODE } from "../../../src/columnar/batch.ts";
import { type Column, columnsOf, TABLES, type TableName } from "../../../src/schema/columns.ts";

export const TABLE_NAMES = Object.keys(TABLES) as TableName[];

/** Values of one numeric type, its extremes often. */
function value(type: Exclude<Column["type"], "string">): fc.Arbitrary<number | bigint> {
  switch (type) {
    case "u64":
      return fc.oneof(fc.bigInt(0n, 2n ** 64n - 1n), fc.constantFrom(0n, 1n, 2n ** 63n, 2n ** 64n - 1n));
    case "i64":
      return fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.constantFrom(-(2n ** 63n), -1n, 2n ** 63n - 1n));
    case "u32":
      return fc.oneof(fc.nat(2 ** 32 - 1), fc.constantFrom(0, 2 ** 31, 2 ** 32 - 1));
    case "i32":
      return fc.integer();
    case "u16":
      return fc.nat(2 ** 16 - 1);
    case "u8":
      return fc.nat(255);
    case "bool":
      return fc.nat(1);
    case "f32":
      return fc.float();
    case "f64":
      return fc.double();
  }
}

function numberColumn(type: Exclude<Column["type"], "string">, nullable: boolean, rows: number) {
  const values = fc.array(value(type), { minLength: rows, maxLength: rows });
  const valid = nullable
    ? fc.option(fc.array(fc.constantFrom(0, 1, 255), { minLength: rows, maxLength: rows }), { nil: undefined })
    : fc.constant(undefined);
  return fc.tuple(values, valid).map(([list, validity]): ColumnData => {
    const data = new ARRAY_TYPES[type](rows);
    for (const [row, entry] of list.entries()) data[row] = entry as never;
    return validity ? { data, valid: Uint8Array.from(validity) } : { data };
  });
}

function stringColumn(nullable: boolean, rows: number): fc.Arbitrary<ColumnData> {
  const text = fc.oneof(fc.constant(""), fc.string({ unit: "grapheme" }), fc.string({ minLength: 30, maxLength: 60 }));
  return fc.array(text, { minLength: 1, maxLength: 6 }).chain((values) => {
    const code = fc.nat(values.length - 1);
    const codes = fc.array(nullable ? fc.oneof(code, fc.constant(NULL_CODE)) : code, {
      minLength: rows,
      maxLength: rows,
    });
    return codes.map((list): ColumnData => ({ codes: Uint32Array.from(list), values }));
  });
}

/** A batch of `table` with up to `maxRows` rows; nullable columns are sometimes absent. */
export function arbitraryBatch(table: TableName, maxRows: number): fc.Arbitrary<Batch> {
  return fc.nat(maxRows).chain((rows) => {
    const columns = Object.fromEntries(
      columnsOf(table).map((column) => {
        const nullable = column.nullable === true;
        const data =
          column.type === "string" ? stringColumn(nullable, rows) : numberColumn(column.type, nullable, rows);
        return [column.name, nullable ? fc.option(data, { nil: undefined, freq: 8 }) : data];
      }),
    ) as Record<string, fc.Arbitrary<ColumnData | undefined>>;
    return fc.record(columns).map((record): Batch => {
      const present = Object.entries(record).filter(([, data]) => data !== undefined);
      return { table, rows, columns: Object.fromEntries(present) as Batch["columns"] };
    });
  });
}

/** The rows as plain values, null where there is none: two batches hold the same if these are equal. */
export function plainRows(batch: Batch): Record<string, unknown>[] {
  return Array.from({ length: batch.rows }, (_, row) =>
    Object.fromEntries(columnsOf(batch.table).map(({ name }) => [name, plainValue(batch.columns[name], row)])),
  );
}

function plainValue(column: ColumnData | undefined, row: number): unknown {
  if (column === undefined) return null;
  if (isStringColumn(column)) return column.values[column.codes[row] ?? NULL_CODE] ?? null;
  return column.valid?.[row] === 0 ? null : column.data[row];
}
