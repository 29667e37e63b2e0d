/** The end of a Parquet file: its columns, and where the values of each lie, as far as this package decodes them. */
import type { ColumnType } from "../../schema/columns.ts";
import { CONVERTED, MAGIC, PHYSICAL } from "../parquet-format.ts";
import { numberOf, readThrift, structOf, structsOf, type ThriftStruct, textOf } from "./thrift.ts";

/** Bytes of the length of the footer and of the magic behind it. */
export const TAIL_BYTES = 8;
const REPETITION = { REQUIRED: 0, OPTIONAL: 1 } as const;
const LOGICAL = { STRING: 1, INTEGER: 10 } as const;
/** Converted types of whole numbers, and which of ours each is; none of our tables has signed ones of 8 or 16 bits. */
const WHOLE: ReadonlyMap<number, ColumnType | null> = new Map([
  [11, "u8"],
  [12, "u16"],
  [13, "u32"],
  [14, "u64"],
  [15, null],
  [16, null],
  [17, "i32"],
  [18, "i64"],
]);
export type ColumnKind = "i32" | "i64" | "f32" | "f64" | "bool" | "text";
/** How the values of a column lie in the file, of those kinds that are decoded here. */
const KINDS: ReadonlyMap<number, ColumnKind> = new Map([
  [PHYSICAL.BOOLEAN, "bool"],
  [PHYSICAL.INT32, "i32"],
  [PHYSICAL.INT64, "i64"],
  [PHYSICAL.FLOAT, "f32"],
  [PHYSICAL.DOUBLE, "f64"],
  [PHYSICAL.BYTE_ARRAY, "text"],
]);

export interface FileColumn {
  readonly name: string;
  /** How its values lie in the file; null for what is not decoded here, times and raw bytes included. */
  readonly kind: ColumnKind | null;
  /** The type of such a column in our tables; null where none has it. */
  readonly type: ColumnType | null;
  /** True where a row may lack a value. */
  readonly optional: boolean;
}

/** The values of one column in one row group. */
export interface FileChunk {
  readonly codec: number;
  readonly values: number;
  /** Place of its first page in the file. */
  readonly at: number;
  readonly bytes: number;
}

export interface FileGroup {
  readonly rows: number;
  /** By position of the column. */
  readonly chunks: readonly FileChunk[];
}

export interface FileFooter {
  readonly rows: number;
  readonly columns: readonly FileColumn[];
  readonly groups: readonly FileGroup[];
  readonly metadata: ReadonlyMap<string, string>;
}

/** Bytes of the footer of a file that ends in `tail`. @throws Error where the file is no Parquet file */
export function footerBytes(tail: Uint8Array): number {
  if (tail.length !== TAIL_BYTES || MAGIC.some((byte, i) => tail[4 + i] !== byte)) {
    throw new Error("it does not end as a Parquet file");
  }
  return new DataView(tail.buffer, tail.byteOffset, tail.byteLength).getUint32(0, true);
}

/** The type of whole numbers by what the file says of them; undefined where they are no numbers, but times and such. */
function wholeType(kind: "i32" | "i64", element: ThriftStruct): ColumnType | null | undefined {
  const converted = numberOf(element, 6);
  const logical = structOf(element, 10);
  const integer = logical && structOf(logical, LOGICAL.INTEGER);
  if (logical !== undefined && integer === undefined) return undefined;
  if (converted !== undefined) return WHOLE.get(converted);
  if (integer === undefined) return kind;
  const named = `${integer.get(2) === true ? "i" : "u"}${numberOf(integer, 1)}`;
  return [...WHOLE.values()].find((type) => type === named) ?? null;
}

/** The type of a column; undefined where its values are of another meaning than any of ours. */
function typeOf(kind: ColumnKind | null, element: ThriftStruct): ColumnType | null | undefined {
  if (kind === null) return undefined;
  if (kind === "i32" || kind === "i64") return wholeType(kind, element);
  const logical = structOf(element, 10);
  const converted = numberOf(element, 6);
  if (kind === "text") return converted === CONVERTED.UTF8 || logical?.has(LOGICAL.STRING) ? "string" : undefined;
  return logical === undefined && converted === undefined ? kind : undefined;
}

function columnOf(element: ThriftStruct): FileColumn {
  const kind = KINDS.get(numberOf(element, 1) ?? -1) ?? null;
  const repetition = numberOf(element, 3);
  const flat = repetition === REPETITION.REQUIRED || repetition === REPETITION.OPTIONAL;
  const type = flat ? typeOf(kind, element) : undefined;
  return {
    name: textOf(element, 4) ?? "",
    kind: type === undefined ? null : kind,
    type: type ?? null,
    optional: repetition === REPETITION.OPTIONAL,
  };
}

function chunkOf(chunk: ThriftStruct, fileBytes: number): FileChunk {
  const meta: ThriftStruct = structOf(chunk, 3) ?? new Map();
  const [codec, values, bytes, data] = [4, 5, 7, 9].map((field) => numberOf(meta, field));
  if (data === undefined || bytes === undefined || values === undefined || codec === undefined) {
    throw new Error("a column does not say where it lies");
  }
  const start = Math.min(data, numberOf(meta, 11) || data);
  if (start < 0 || bytes < 0 || start + bytes > fileBytes) throw new Error("a column lies beyond the end of the file");
  return { codec, values, at: start, bytes };
}

/**
 * Decodes a footer of flat columns.
 * @param bytes the footer alone
 * @param fileBytes length of the file
 * @throws Error where it is none, has nested columns or places outside the file
 */
export function readFooter(bytes: Uint8Array, fileBytes: number): FileFooter {
  const { struct } = readThrift(bytes, 0);
  const [root, ...elements] = structsOf(struct, 2);
  if (root === undefined || numberOf(root, 5) !== elements.length) throw new Error("its columns are nested");
  const columns = elements.map(columnOf);
  const groups = structsOf(struct, 4).map((group): FileGroup => {
    const chunks = structsOf(group, 1).map((chunk) => chunkOf(chunk, fileBytes));
    const rows = numberOf(group, 3) ?? -1;
    if (chunks.length !== columns.length) throw new Error("a row group lacks columns");
    if (rows < 0 || chunks.some(({ values }) => values !== rows)) throw new Error("a row group has uneven columns");
    return { rows, chunks };
  });
  const rows = groups.reduce((sum, group) => sum + group.rows, 0);
  if (rows !== numberOf(struct, 3)) throw new Error("its row groups have not as many rows as it says");
  const metadata = structsOf(struct, 5).map((pair) => [textOf(pair, 1) ?? "", textOf(pair, 2) ?? ""] as const);
  return { rows, columns, groups, metadata: new Map(metadata) };
}

/** A column by its name, and where its values of a row group lie; null where the file has none of that name. */
export function chunkOfColumn(
  { columns }: FileFooter,
  { chunks }: FileGroup,
  name: string,
): { readonly column: FileColumn; readonly chunk: FileChunk } | null {
  const position = columns.findIndex((column) => column.name === name);
  const [column, chunk] = [columns[position], chunks[position]];
  return column === undefined || chunk === undefined ? null : { column, chunk };
}
