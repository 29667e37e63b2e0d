/** The values of one column of one row group as typed arrays. */
import { NULL_CODE } from "../batch.ts";
import { ENCODING } from "../parquet-format.ts";
import { decodeDelta } from "./delta.ts";
import type { FileChunk, FileColumn } from "./footer.ts";
import { decodeHybrid, runOf } from "./hybrid.ts";
import type { Page } from "./pages.ts";

/** Room that is used for one column after the other. */
export interface ReadScratch {
  readonly codes: Uint32Array;
  readonly present: Uint32Array;
}

export function readScratch(rows: number): ReadScratch {
  return { codes: new Uint32Array(rows), present: new Uint32Array(rows) };
}

/** How many rows of a page have a value, which ones unless all have (as 1 in `present`), and where the values begin. */
function readLevels(page: Page, optional: boolean, present: Uint32Array): { count: number; at: number } {
  if (!optional) return { count: page.values, at: 0 };
  const { body, values } = page;
  if (body.length < 4) throw new Error("a page ends before its levels do");
  const length = new DataView(body.buffer, body.byteOffset, body.length).getUint32(0, true);
  if (length > body.length - 4) throw new Error("the levels are longer than their page");
  if (runOf(body, 4, 4 + length, values) === 1) return { count: values, at: 4 + length };
  decodeHybrid(body, 4, 4 + length, 1, values, present, 0);
  let count = 0;
  for (let row = 0; row < values; row++) count += present[row] as number;
  return { count, at: 4 + length };
}

const isCoded = (encoding: number): boolean =>
  encoding === ENCODING.RLE_DICTIONARY || encoding === ENCODING.PLAIN_DICTIONARY;

function readCodes({ body }: Page, start: number, count: number, size: number, codes: Uint32Array): void {
  // A page of nothing but nulls may leave out even the width.
  if (count === 0) return;
  decodeHybrid(body, start + 1, body.length, body[start] ?? 255, count, codes, 0);
  let greatest = 0;
  for (let i = 0; i < count; i++) if ((codes[i] as number) > greatest) greatest = codes[i] as number;
  if (greatest >= size) throw new Error(`code ${greatest} of a dictionary of ${size}`);
}

/** The words of plain numbers, copied where they do not begin at a word. */
function plainWords(body: Uint8Array, offset: number, words: number): Uint32Array {
  if (4 * words > body.length - offset) throw new Error("a page ends before its values do");
  if ((body.byteOffset + offset) % 4 === 0) return new Uint32Array(body.buffer, body.byteOffset + offset, words);
  const copy = new Uint8Array(4 * words);
  copy.set(body.subarray(offset, offset + 4 * words));
  return new Uint32Array(copy.buffer);
}

/** Moves `count` numbers that lie one after the other from row `firstRow` on to the rows that have a value. */
function spread(
  words: Uint32Array,
  wide: boolean,
  firstRow: number,
  values: number,
  count: number,
  present: Uint32Array,
) {
  let from = firstRow + count - 1;
  for (let row = values - 1; row >= 0; row--) {
    const place = firstRow + row;
    const isPresent = present[row] === 1;
    if (wide) {
      words[2 * place + 1] = isPresent ? (words[2 * from + 1] as number) : 0;
      words[2 * place] = isPresent ? (words[2 * from] as number) : 0;
    } else words[place] = isPresent ? (words[from] as number) : 0;
    if (isPresent) from -= 1;
  }
}

function pickWords(
  dictionary: Uint32Array,
  codes: Uint32Array,
  wide: boolean,
  count: number,
  target: Uint32Array,
  firstRow: number,
) {
  if (!wide) {
    for (let i = 0; i < count; i++) target[firstRow + i] = dictionary[codes[i] as number] as number;
    return;
  }
  for (let i = 0, out = 2 * firstRow; i < count; i++, out += 2) {
    const code = 2 * (codes[i] as number);
    target[out] = dictionary[code] as number;
    target[out + 1] = dictionary[code + 1] as number;
  }
}

/** True for numbers of two words each. */
export const isWide = ({ kind }: FileColumn): boolean => kind === "i64" || kind === "f64";

const isWhole = ({ kind }: FileColumn): boolean => kind === "i32" || kind === "i64";

/**
 * Numbers of 32 or 64 bits, the latter as two words, low word first; 0 in rows without a value.
 * @param pages of the chunk, in their order
 * @param words room for all rows of the chunk
 * @param valid set to 1 for each row with a value, else to 0; null where nobody asks
 * @returns rows without a value
 * @throws Error where the bytes are not those of such a column, or encoded in a way that is not decoded here
 */
export function readNumbers(
  pages: readonly Page[],
  column: FileColumn,
  chunk: FileChunk,
  scratch: ReadScratch,
  words: Uint32Array,
  valid: Uint8Array | null,
): number {
  const wide = isWide(column);
  if (!wide && column.kind !== "i32" && column.kind !== "f32") throw new Error(`${column.name} is no number`);
  let dictionary: Uint32Array = new Uint32Array(0);
  let offset = 0;
  let nulls = 0;
  for (const page of pages) {
    const { body, values, encoding } = page;
    if (page.isDictionary) {
      dictionary = plainWords(body, 0, wide ? 2 * values : values);
      continue;
    }
    if (values > chunk.values - offset) throw new Error("a column has more values than its row group");
    const { count, at: start } = readLevels(page, column.optional, scratch.present);
    if (isCoded(encoding)) {
      readCodes(page, start, count, wide ? dictionary.length / 2 : dictionary.length, scratch.codes);
      pickWords(dictionary, scratch.codes, wide, count, words, offset);
    } else if (encoding === ENCODING.PLAIN) {
      words.set(plainWords(body, start, wide ? 2 * count : count), wide ? 2 * offset : offset);
    } else if (encoding === ENCODING.DELTA_BINARY_PACKED && isWhole(column)) {
      decodeDelta(body, start, wide, count, words, offset);
    } else throw new Error(`encoding ${encoding}`);
    if (count < values) spread(words, wide, offset, values, count, scratch.present);
    if (valid !== null && count === values) valid.fill(1, offset, offset + values);
    else if (valid !== null)
      for (let row = 0; row < values; row++) valid[offset + row] = scratch.present[row] as number;
    offset += values;
    nulls += values - count;
  }
  if (offset !== chunk.values) throw new Error("a column has fewer values than its row group");
  return nulls;
}

/**
 * Values that are true or false, as 1 or 0; 0 in rows without a value.
 * @param values room for all rows of the chunk
 * @param valid as `readNumbers` sets it
 * @returns rows without a value
 * @throws Error as `readNumbers`
 */
export function readBools(
  pages: readonly Page[],
  column: FileColumn,
  chunk: FileChunk,
  scratch: ReadScratch,
  values: Uint8Array,
  valid: Uint8Array,
): number {
  if (column.kind !== "bool") throw new Error(`${column.name} is neither true nor false`);
  let position = 0;
  let nulls = 0;
  for (const page of pages) {
    if (page.isDictionary || page.encoding !== ENCODING.PLAIN) throw new Error(`encoding ${page.encoding}`);
    if (page.values > chunk.values - position) throw new Error("a column has more values than its row group");
    const { body } = page;
    const { count, at: start } = readLevels(page, column.optional, scratch.present);
    if (Math.ceil(count / 8) > body.length - start) throw new Error("a page ends before its values do");
    for (let row = 0, i = 0; row < page.values; row++) {
      const present = count === page.values || scratch.present[row] === 1;
      valid[position + row] = present ? 1 : 0;
      values[position + row] = present ? ((body[start + (i >>> 3)] as number) >>> (i & 7)) & 1 : 0;
      if (present) i += 1;
    }
    position += page.values;
    nulls += page.values - count;
  }
  if (position !== chunk.values) throw new Error("a column has fewer values than its row group");
  return nulls;
}

const decoder = new TextDecoder();

/** Texts behind their lengths. */
function plainTexts(body: Uint8Array, start: number, count: number): string[] {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const texts: string[] = [];
  let offset = start;
  for (let i = 0; i < count; i++) {
    if (offset + 4 > body.length) throw new Error("a page ends before its texts do");
    const length = view.getUint32(offset, true);
    if (length > body.length - offset - 4) throw new Error("a text is longer than its page");
    texts.push(decoder.decode(body.subarray(offset + 4, offset + 4 + length)));
    offset += 4 + length;
  }
  return texts;
}

/**
 * Texts as codes: `codes[row]` indexes what is returned, or is NULL_CODE.
 * @param pages of the chunk, in their order
 * @param codes room for all rows of the chunk
 * @throws Error as `readNumbers`
 */
export function readTexts(
  pages: readonly Page[],
  column: FileColumn,
  chunk: FileChunk,
  scratch: ReadScratch,
  codes: Uint32Array,
): string[] {
  if (column.kind !== "text") throw new Error(`${column.name} is no text`);
  const texts: string[] = [];
  const codeOf = new Map<string, number>();
  let coded = 0;
  let position = 0;
  for (const page of pages) {
    const { body, values, encoding } = page;
    if (page.isDictionary) {
      for (const text of plainTexts(body, 0, values)) texts.push(text);
      coded = texts.length;
      continue;
    }
    if (values > chunk.values - position) throw new Error("a column has more values than its row group");
    const { count, at: start } = readLevels(page, column.optional, scratch.present);
    if (isCoded(encoding)) readCodes(page, start, count, coded, scratch.codes);
    else if (encoding === ENCODING.PLAIN) {
      for (const [i, text] of plainTexts(body, start, count).entries()) {
        let code = codeOf.get(text);
        if (code === undefined) {
          code = texts.push(text) - 1;
          codeOf.set(text, code);
        }
        scratch.codes[i] = code;
      }
    } else throw new Error(`encoding ${encoding}`);
    if (count === values) codes.set(scratch.codes.subarray(0, values), position);
    else {
      for (let row = 0, i = 0; row < values; row++) {
        codes[position + row] = scratch.present[row] === 0 ? NULL_CODE : (scratch.codes[i++] as number);
      }
    }
    position += values;
  }
  if (position !== chunk.values) throw new Error("a column has fewer values than its row group");
  return texts;
}
