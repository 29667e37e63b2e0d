/** An Arrow table read from outside becomes a batch, after its columns were checked against the table of columns. */
import type { Data, DataType, Table, Vector } from "apache-arrow";
import { type Column, columnsOf, type TableName } from "../../schema/columns.ts";
import { ARRAY_TYPES } from "../arrays.ts";
import type { Batch, ColumnData, NumberColumn } from "../batch.ts";
import { unpackValidity } from "../bits.ts";
import { arrowSchema } from "./record-batches.ts";
import { stringCoder } from "./string-codes.ts";

/**
 * The rows of `arrow` as one batch of `table`; columns that the table does not know are left out.
 *
 * @returns the batch, or in words what does not fit
 */
export function fromArrow<N extends TableName>(arrow: Table, table: N): Batch<N> | string {
  const expected = new Map(arrowSchema(table).fields.map((field) => [field.name, field.type as DataType]));
  const columns: Record<string, ColumnData> = {};
  for (const column of columnsOf(table)) {
    const vector = arrow.getChild(column.name);
    if (vector === null) {
      if (column.nullable) continue;
      return `it has no column ${column.name}`;
    }
    const type = String(expected.get(column.name));
    if (String(vector.type) !== type) return `its column ${column.name} is ${vector.type} and should be ${type}`;
    if (vector.nullCount > 0 && !column.nullable) return `its column ${column.name} has rows without a value`;
    columns[column.name] = column.type === "string" ? strings(vector) : numbers(vector, column);
  }
  return { table, rows: arrow.numRows, columns };
}

function strings(vector: Vector): ColumnData {
  const codes = new Uint32Array(vector.length);
  const coder = stringCoder();
  let row = 0;
  for (const chunk of vector.data) {
    const valid = chunk.nullCount > 0 ? unpackValidity(chunk.nullBitmap, chunk.offset, chunk.length) : null;
    coder.code(chunk.valueOffsets, chunk.values, chunk.length, valid, codes, row);
    row += chunk.length;
  }
  return { codes, values: coder.values };
}

function numbers(vector: Vector, column: Column): NumberColumn {
  if (column.type === "string") throw new TypeError("a string column has no numbers");
  const data = new ARRAY_TYPES[column.type](vector.length);
  const valid = vector.nullCount > 0 ? new Uint8Array(vector.length).fill(1) : undefined;
  let next = 0;
  for (const chunk of vector.data) {
    const values = column.type === "bool" ? unpackValidity(chunk.values, chunk.offset, chunk.length) : plain(chunk);
    // Both sides have the element type that the check above found; the union hides it.
    (data as Uint8Array).set(values as Uint8Array, next);
    if (valid && chunk.nullCount > 0) valid.set(unpackValidity(chunk.nullBitmap, chunk.offset, chunk.length), next);
    next += chunk.length;
  }
  return valid ? { data, valid } : { data };
}

function plain(chunk: Data): Uint8Array {
  return chunk.values.subarray(0, chunk.length);
}
