/** Arrow schemas from the table of columns, and record batches from batches without a loop over numbers. */
import {
  Bool,
  type Data,
  type DataType,
  Field,
  Float32,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from "apache-arrow";
import { type Column, type ColumnType, columnsOf, type TABLES, type TableName } from "../../schema/columns.ts";
import { tableMetadata } from "../../schema/versions.ts";
import { ARRAY_TYPES } from "../arrays.ts";
import { type Batch, type ColumnData, isStringColumn, type NumberColumn } from "../batch.ts";
import { packValidity } from "../bits.ts";
import { assertFits, misfit } from "../fit.ts";
import { plainStrings } from "./string-codes.ts";

const ARROW_TYPES = {
  u64: () => new Uint64(),
  i64: () => new Int64(),
  u32: () => new Uint32(),
  i32: () => new Int32(),
  u16: () => new Uint16(),
  u8: () => new Uint8(),
  f64: () => new Float64(),
  f32: () => new Float32(),
  bool: () => new Bool(),
  string: () => new Utf8(),
} as const satisfies Record<ColumnType, () => DataType>;

/** Arrow type of every column of a table, by name. */
export type ArrowColumns<N extends TableName> = {
  [C in (typeof TABLES)[N]["columns"][number] as C["name"]]: ReturnType<(typeof ARROW_TYPES)[C["type"]]>;
};

/** Arrow schema of a table: unit and doc as field metadata, schema version and table name as schema metadata. */
export function arrowSchema(table: TableName): Schema {
  const fields = columnsOf(table).map((column) => {
    const metadata = new Map([
      ["unit", column.unit],
      ["doc", column.doc],
    ]);
    return new Field(column.name, ARROW_TYPES[column.type](), column.nullable === true, metadata);
  });
  return new Schema(fields, tableMetadata(table));
}

/**
 * One Arrow record batch with the rows of `batch`; numeric columns share the batch's memory.
 *
 * @throws MrmTraceError failure when a column is missing, short, of another type, or null where it must not be
 */
export function toRecordBatch(batch: Batch): RecordBatch {
  const schema = arrowSchema(batch.table);
  const children = columnsOf(batch.table).map((column) => columnData(batch, column));
  const struct = makeData({ type: new Struct(schema.fields), length: batch.rows, nullCount: 0, children });
  return new RecordBatch(schema, struct);
}

function columnData(batch: Batch, column: Column): Data {
  const data = batch.columns[column.name];
  const { rows } = batch;
  const built = data === undefined ? nullColumn(column, rows) : filledColumn(column, data, rows, batch.table);
  if (built.nullCount > 0 && !column.nullable) {
    throw misfit(batch.table, column, `${built.nullCount} of ${rows} rows have no value`);
  }
  return built;
}

function nullColumn(column: Column, rows: number): Data {
  const nullBitmap = new Uint8Array(Math.ceil(rows / 8));
  const valid = { length: rows, nullCount: rows, nullBitmap };
  if (column.type === "string") {
    const valueOffsets = new Int32Array(rows + 1);
    return makeData({ type: new Utf8(), ...valid, valueOffsets, data: new Uint8Array(0) });
  }
  return makeNumbers(column.type, new ARRAY_TYPES[column.type](rows), valid);
}

interface Validity {
  readonly length: number;
  readonly nullCount: number;
  readonly nullBitmap?: Uint8Array;
}

function makeNumbers(type: ColumnType, data: NumberColumn["data"], validity: Validity): Data {
  // The table pairs each Arrow type with its array, which makeData's overloads cannot express for a union.
  const bits = type === "bool" ? packValidity(data as Uint8Array, validity.length).bits : data;
  return makeData({ type: ARROW_TYPES[type]() as Uint64, ...validity, data: bits as BigUint64Array });
}

function filledColumn(column: Column, data: ColumnData, rows: number, table: TableName): Data {
  assertFits(table, column, data, rows);
  if (isStringColumn(data)) {
    const { nulls, offsets, bytes, bits } = plainStrings(data, rows);
    const valid = nulls > 0 ? { nullBitmap: bits } : {};
    return makeData({ type: new Utf8(), length: rows, nullCount: nulls, valueOffsets: offsets, data: bytes, ...valid });
  }
  const { bits, zeros } = data.valid ? packValidity(data.valid, rows) : { bits: null, zeros: 0 };
  return makeNumbers(column.type, data.data.subarray(0, rows), {
    length: rows,
    nullCount: zeros,
    ...(bits && zeros > 0 ? { nullBitmap: bits } : {}),
  });
}
