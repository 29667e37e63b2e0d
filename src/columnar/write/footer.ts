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

function schemaElement(writer: ThriftWriter, column: Column): void {
  const { physical, converted, integer } = TYPES[column.type];
  writer.i32(1, physical);
  writer.i32(3, column.nullable === true ? 1 : 0);
  writer.binary(4, column.name);
  if (converted !== null) writer.i32(6, converted);
  if (column.type === "string") writer.struct(10, () => writer.struct(1, () => {}));
  else if (integer !== null) {
    writer.struct(10, () =>
      writer.struct(10, () => {
        writer.byte(1, integer.bits);
        writer.bool(2, integer.signed);
      }),
    );
  }
}

function chunkMetadata(writer: ThriftWriter, chunk: RowGroup["chunks"][number], position: number): void {
  const { column, bounds, encodings } = chunk;
  writer.i32(1, TYPES[column.type].physical);
  writer.list(2, "i32", encodings.length, () => {
    for (const encoding of encodings) writer.bareI32(encoding);
  });
  writer.list(3, "binary", 1, () => writer.bareBinary(column.name));
  writer.i32(4, chunk.codec);
  writer.i64(5, chunk.rows);
  writer.i64(6, chunk.plain_bytes);
  writer.i64(7, chunk.bytes);
  writer.i64(9, position + chunk.dictionary_bytes);
  if (chunk.dictionary_bytes > 0) writer.i64(11, position);
  writer.struct(12, () => {
    writer.i64(3, chunk.nulls);
    if (bounds === null) return;
    writer.binary(5, bounds.greatest);
    writer.binary(6, bounds.least);
  });
}

function rowGroup(writer: ThriftWriter, group: RowGroup): void {
  let offset = group.at;
  writer.list(1, "struct", group.chunks.length, () => {
    for (const chunk of group.chunks) {
      writer.element(() => {
        writer.i64(2, offset);
        writer.struct(3, () => chunkMetadata(writer, chunk, offset));
      });
      offset += chunk.bytes;
    }
  });
  writer.i64(
    2,
    group.chunks.reduce((sum, chunk) => sum + chunk.plain_bytes, 0),
  );
  writer.i64(3, group.rows);
  writer.i64(5, group.at);
  writer.i64(6, offset - group.at);
}

/** FileMetaData of the format, without its length and the magic behind it. */
export function fileFooter(
  table: TableName,
  groups: readonly RowGroup[],
  keyValues: ReadonlyMap<string, string>,
): Uint8Array {
  const columns = columnsOf(table);
  return thriftStruct((writer) => {
    writer.i32(1, 2);
    writer.list(2, "struct", columns.length + 1, () => {
      writer.element(() => {
        writer.binary(4, "schema");
        writer.i32(5, columns.length);
      });
      for (const column of columns) writer.element(() => schemaElement(writer, column));
    });
    writer.i64(
      3,
      groups.reduce((sum, group) => sum + group.rows, 0),
    );
    writer.list(4, "struct", groups.length, () => {
      for (const group of groups) writer.element(() => rowGroup(writer, group));
    });
    writer.list(5, "struct", keyValues.size, () => {
      for (const [key, value] of keyValues) {
        writer.element(() => {
          writer.binary(1, key);
          writer.binary(2, value);
        });
      }
    });
    writer.binary(6, "mrm-trace");
    // The order of each column's values is that of its type.
    writer.list(7, "struct", columns.length, () => {
      for (const _ of columns) writer.element(() => writer.struct(1, () => {}));
    });
  });
}
