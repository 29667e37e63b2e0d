/** The end of a Parquet file: its schema, and where every column of every row group lies. */
import { type Column, type ColumnType, columnsOf, type TableName } from "../../schema/columns.ts";
import { CONVERTED, PHYSICAL } from "../parquet-format.ts";
import type { ColumnChunk } from "./column-chunk.ts";
import { type ThriftWriter, thriftStruct } from "./thrift.ts";

interface TypeNumbers {
  readonly physical: number;
  readonly converted: number | null;
  /** Bits and sign of a whole number. */
  readonly integer: { readonly bits: number; readonly signed: boolean } | null;
}

const plain = (physical: number): TypeNumbers => ({ physical, converted: null, integer: null });
const integer = (physical: number, bits: number, signed: boolean, converted: number): TypeNumbers => ({
  physical,
  converted,
  integer: { bits, signed },
});

const TYPES: Readonly<Record<ColumnType, TypeNumbers>> = {
  u64: integer(PHYSICAL.INT64, 64, false, 14),
  i64: integer(PHYSICAL.INT64, 64, true, 18),
  u32: integer(PHYSICAL.INT32, 32, false, 13),
  i32: integer(PHYSICAL.INT32, 32, true, 17),
  u16: integer(PHYSICAL.INT32, 16, false, 12),
  u8: integer(PHYSICAL.INT32, 8, false, 11),
  f64: plain(PHYSICAL.DOUBLE),
  f32: plain(PHYSICAL.FLOAT),
  bool: plain(PHYSICAL.BOOLEAN),
  string: { physical: PHYSICAL.BYTE_ARRAY, converted: CONVERTED.UTF8, integer: null },
};

export interface RowGroup {
  readonly rows: number;
  /** Place of its first byte in the file. */
  readonly at: number;
  readonly chunks: readonly Omit<ColumnChunk, "pieces">[];
}

function schemaElement(to: ThriftWriter, column: Column): void {
  const { physical, converted, integer } = TYPES[column.type];
  to.i32(1, physical);
  to.i32(3, column.nullable === true ? 1 : 0);
  to.binary(4, column.name);
  if (converted !== null) to.i32(6, converted);
  if (column.type === "string") to.struct(10, () => to.struct(1, () => {}));
  else if (integer !== null) {
    to.struct(10, () =>
      to.struct(10, () => {
        to.byte(1, integer.bits);
        to.bool(2, integer.signed);
      }),
    );
  }
}

function chunkMetadata(to: ThriftWriter, chunk: RowGroup["chunks"][number], at: number): void {
  const { column, bounds, encodings } = chunk;
  to.i32(1, TYPES[column.type].physical);
  to.list(2, "i32", encodings.length, () => {
    for (const encoding of encodings) to.bareI32(encoding);
  });
  to.list(3, "binary", 1, () => to.bareBinary(column.name));
  to.i32(4, chunk.codec);
  to.i64(5, chunk.rows);
  to.i64(6, chunk.plain_bytes);
  to.i64(7, chunk.bytes);
  to.i64(9, at + chunk.dictionary_bytes);
  if (chunk.dictionary_bytes > 0) to.i64(11, at);
  to.struct(12, () => {
    to.i64(3, chunk.nulls);
    if (bounds === null) return;
    to.binary(5, bounds.greatest);
    to.binary(6, bounds.least);
  });
}

function rowGroup(to: ThriftWriter, group: RowGroup): void {
  let at = group.at;
  to.list(1, "struct", group.chunks.length, () => {
    for (const chunk of group.chunks) {
      to.element(() => {
        to.i64(2, at);
        to.struct(3, () => chunkMetadata(to, chunk, at));
      });
      at += chunk.bytes;
    }
  });
  to.i64(
    2,
    group.chunks.reduce((sum, chunk) => sum + chunk.plain_bytes, 0),
  );
  to.i64(3, group.rows);
  to.i64(5, group.at);
  to.i64(6, at - group.at);
}

/** FileMetaData of the format, without its length and the magic behind it. */
export function fileFooter(
  table: TableName,
  groups: readonly RowGroup[],
  keyValues: ReadonlyMap<string, string>,
): Uint8Array {
  const columns = columnsOf(table);
  return thriftStruct((to) => {
    to.i32(1, 2);
    to.list(2, "struct", columns.length + 1, () => {
      to.element(() => {
        to.binary(4, "schema");
        to.i32(5, columns.length);
      });
      for (const column of columns) to.element(() => schemaElement(to, column));
    });
    to.i64(
      3,
      groups.reduce((sum, group) => sum + group.rows, 0),
    );
    to.list(4, "struct", groups.length, () => {
      for (const group of groups) to.element(() => rowGroup(to, group));
    });
    to.list(5, "struct", keyValues.size, () => {
      for (const [key, value] of keyValues) {
        to.element(() => {
          to.binary(1, key);
          to.binary(2, value);
        });
      }
    });
    to.binary(6, "mrm-trace");
    // The order of each column's values is that of its type.
    to.list(7, "struct", columns.length, () => {
      for (const _ of columns) to.element(() => to.struct(1, () => {}));
    });
  });
}
