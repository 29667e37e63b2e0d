/** One column of one row group: a dictionary page where values repeat, then one page of data, each compressed by zstd. */
import type { Column } from "../../schema/columns.ts";
import { CODEC, ENCODING, PAGE } from "../parquet-format.ts";
import { type ColumnValues, columnValues, type Numbers, type Scratch, widened, wordsOf } from "./column-values.ts";
import { encodeDelta } from "./delta.ts";
import type { EncodableColumn } from "./encodable.ts";
import { bitWidth, encodeHybrid, encodeRun } from "./hybrid.ts";
import { bytesOf, plainBits, plainTexts } from "./plain.ts";
import { type Bounds, numberBounds, textBounds } from "./statistics.ts";
import { thriftStruct } from "./thrift.ts";

/** Pages that are smaller gain nothing from being compressed. */
const LEAST_COMPRESSED_BYTES = 96;
const ZSTD = { level: 1 } as const;

export interface ColumnChunk {
  readonly column: Column;
  readonly pieces: readonly Uint8Array[];
  readonly codec: number;
  readonly encodings: readonly number[];
  readonly rows: number;
  readonly nulls: number;
  /** Bytes of its pages, headers included, as they would be and as they are. */
  readonly plain_bytes: number;
  readonly bytes: number;
  /** Bytes of the dictionary page, which comes first; 0 without one. */
  readonly dictionary_bytes: number;
  readonly bounds: Bounds | null;
}

interface Page {
  readonly type: number;
  readonly values: number;
  readonly encoding: number;
  readonly body: Uint8Array;
}

const text = new TextEncoder();

function pageHeader(page: Page, stored: number): Uint8Array {
  return thriftStruct((writer) => {
    writer.i32(1, page.type);
    writer.i32(2, page.body.length);
    writer.i32(3, stored);
    if (page.type === PAGE.DICTIONARY) {
      writer.struct(7, () => {
        writer.i32(1, page.values);
        writer.i32(2, page.encoding);
      });
      return;
    }
    writer.struct(5, () => {
      writer.i32(1, page.values);
      writer.i32(2, page.encoding);
      writer.i32(3, ENCODING.RLE);
      writer.i32(4, ENCODING.RLE);
    });
  });
}

/** Writes which rows have a value, with which a data page begins; nothing for a column that must have one. */
function writeLevels(column: Column, { present, count }: ColumnValues, rows: number, out: Uint8Array): number {
  if (column.nullable !== true) return 0;
  const end =
    present === null ? encodeRun(count === 0 ? 0 : 1, rows, 1, out, 4) : encodeHybrid(present, rows, 1, out, 4);
  new DataView(out.buffer, out.byteOffset).setUint32(0, end - 4, true);
  return end;
}

/** Numbers one after the other, in the words of their physical type. */
function plainNumbers(column: Column, numbers: Numbers, room: Uint32Array): Uint8Array {
  if (column.type === "bool") return plainBits(numbers as Uint8Array, numbers.length);
  return bytesOf(numbers.BYTES_PER_ELEMENT < 4 ? widened(numbers, room) : numbers);
}

/** Writes differences where they fit; floats have none, and some addresses are too far from each other. */
function writeNumbers(
  column: Column,
  numbers: Numbers,
  { page: out, words: room }: Scratch,
  offset: number,
): { readonly encoding: number; readonly end: number; readonly ascending: boolean } {
  if (column.type !== "bool" && column.type !== "f32" && column.type !== "f64") {
    const wide = numbers.BYTES_PER_ELEMENT === 8;
    const words = wide ? wordsOf(numbers) : widened(numbers, room);
    const signed = new Int32Array(words.buffer, words.byteOffset, words.length);
    const differences = encodeDelta(signed, numbers.length, wide, out, offset);
    if (differences !== null) return { encoding: ENCODING.DELTA_BINARY_PACKED, ...differences };
  }
  const plain = plainNumbers(column, numbers, room);
  out.set(plain, offset);
  return { encoding: ENCODING.PLAIN, end: offset + plain.length, ascending: false };
}

/** The first and the last number. */
function pickEnds(numbers: Numbers): Numbers {
  const last = numbers.length - 1;
  const ends = new (numbers.constructor as Uint32ArrayConstructor)(2);
  ends.set((numbers as Uint32Array).subarray(0, 1), 0);
  ends.set((numbers as Uint32Array).subarray(last, last + 1), 1);
  return ends;
}

/** Pages whose bodies may lie in the scratch: they must be used before the next column is. */
function pagesOf(
  column: Column,
  rows: number,
  columnData: ColumnValues,
  scratch: Scratch,
): { readonly pages: readonly Page[]; readonly bounds: Bounds | null } {
  const { content, count } = columnData;
  const out = scratch.page;
  const start = writeLevels(column, columnData, rows, out);
  const data = (encoding: number, end: number): Page => ({
    type: PAGE.DATA,
    values: rows,
    encoding,
    body: out.subarray(0, end),
  });
  if (content.kind === "none") return { pages: [data(ENCODING.PLAIN, start)], bounds: null };
  if (content.kind === "numbers") {
    const { numbers } = content;
    const { encoding, end, ascending } = writeNumbers(column, numbers, scratch, start);
    const ends = ascending ? pickEnds(numbers) : column.name === "timestamp_ns" ? numbers : null;
    // Bounds of numbers without order leave no row group out, but for times, which are nearly in order.
    return { pages: [data(encoding, end)], bounds: ends === null ? null : numberBounds(column, ends) };
  }
  const { values, codes } = content;
  const width = bitWidth(values.length - 1);
  out[start] = width;
  const end = width === 0 ? encodeRun(0, count, 0, out, start + 1) : encodeHybrid(codes, count, width, out, start + 1);
  const texts = Array.isArray(values) ? values.map((value: string) => text.encode(value)) : null;
  const numbers = values as Numbers;
  const dictionary: Page = {
    type: PAGE.DICTIONARY,
    values: values.length,
    encoding: ENCODING.PLAIN,
    body: texts === null ? plainNumbers(column, numbers, scratch.words) : plainTexts(texts),
  };
  return {
    pages: [dictionary, data(ENCODING.RLE_DICTIONARY, end)],
    bounds: texts === null ? numberBounds(column, numbers) : textBounds(texts),
  };
}

/** The pages of a column, ready to be written one after the other. */
export function columnChunk(
  column: Column,
  given: EncodableColumn | undefined,
  rows: number,
  scratch: Scratch,
): ColumnChunk {
  const columnData = columnValues(column, given, rows, scratch);
  const { pages, bounds } = pagesOf(column, rows, columnData, scratch);
  const compressed = pages.some((page) => page.body.length >= LEAST_COMPRESSED_BYTES);
  const pieces: Uint8Array[] = [];
  let plain = 0;
  let dictionary = 0;
  for (const page of pages) {
    const body = compressed ? Bun.zstdCompressSync(page.body as Uint8Array<ArrayBuffer>, ZSTD) : page.body.slice();
    const header = pageHeader(page, body.length);
    pieces.push(header, body);
    plain += header.length + page.body.length;
    if (page.type === PAGE.DICTIONARY) dictionary = header.length + body.length;
  }
  return {
    column,
    pieces,
    codec: compressed ? CODEC.ZSTD : CODEC.UNCOMPRESSED,
    encodings: [...new Set([ENCODING.RLE, ...pages.map((page) => page.encoding)])],
    rows,
    nulls: rows - columnData.count,
    plain_bytes: plain,
    bytes: pieces.reduce((sum, piece) => sum + piece.length, 0),
    dictionary_bytes: dictionary,
    bounds,
  };
}
