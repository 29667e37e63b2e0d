/** The values of a column in the form in which they are written: nulls left out, repeated ones as codes. */
import type { Column } from "../../schema/columns.ts";
import { isStringColumn, type NumberColumn } from "../batch.ts";
import { deltaRoom } from "./delta.ts";
import { distinctNumbers, isConstant } from "./distinct.ts";
import type { EncodableColumn, KeyedColumn } from "./encodable.ts";
import { bitWidth, hybridRoom } from "./hybrid.ts";
import { bytesOf } from "./plain.ts";

export type Numbers = NumberColumn["data"];

export interface ColumnValues {
  /** 1 for each row with a value; null where all rows have one, or none has. */
  readonly present: Uint32Array | null;
  /** Rows with a value. */
  readonly count: number;
  readonly content:
    | { readonly kind: "none" }
    | { readonly kind: "codes"; readonly codes: Uint32Array; readonly values: readonly string[] | Numbers }
    | { readonly kind: "numbers"; readonly numbers: Numbers };
}

const NONE = 0xffffffff;
/** Length of the levels, and width of the codes. */
const LEVELS_BYTES = 5;

/** Arrays that are used for one column after the other, so that none is made per column. */
export interface Scratch {
  readonly codes: Uint32Array;
  readonly present: Uint32Array;
  /** Room for numbers of 32 bits. */
  readonly words: Uint32Array;
  /** Room for any page of data. */
  readonly page: Uint8Array;
}

export function scratchFor(rows: number): Scratch {
  const body = Math.max(deltaRoom(rows), 8 * rows, hybridRoom(rows, bitWidth(rows)));
  return {
    codes: new Uint32Array(rows),
    present: new Uint32Array(rows),
    words: new Uint32Array(rows),
    page: new Uint8Array(LEVELS_BYTES + hybridRoom(rows, 1) + body),
  };
}

function pick(values: readonly string[] | Numbers, positions: Uint32Array): readonly string[] | Numbers {
  if (Array.isArray(values)) return Array.from(positions, (position) => values[position] as string);
  const numbers = values as Uint32Array;
  const picked = new (numbers.constructor as Uint32ArrayConstructor)(positions.length);
  for (let i = 0; i < positions.length; i++) picked[i] = numbers[positions[i] as number] as number;
  return picked;
}

/** A dictionary of the values that `codes` name, numbered by first appearance; codes behind the end are null. */
function usedCodes(
  codes: Uint32Array,
  values: readonly string[] | Numbers,
  rows: number,
  scratch: Scratch,
): ColumnValues {
  const { length } = values;
  const newCode = new Uint32Array(length).fill(NONE);
  const used: number[] = [];
  let count = 0;
  let before = NONE;
  let code = NONE;
  for (let row = 0; row < rows; row++) {
    const old = codes[row] as number;
    if (old >= length) {
      scratch.present[row] = 0;
      continue;
    }
    scratch.present[row] = 1;
    if (old !== before) {
      before = old;
      code = newCode[old] as number;
      if (code === NONE) {
        code = used.push(old) - 1;
        newCode[old] = code;
      }
    }
    scratch.codes[count++] = code;
  }
  if (count === 0) return { present: null, count, content: { kind: "none" } };
  const picked = pick(values, Uint32Array.from(used));
  return {
    present: count === rows ? null : scratch.present,
    count,
    content: { kind: "codes", codes: scratch.codes, values: picked },
  };
}

/** The same by the keys of the rows: most of them have few, and a column often one value for all of those. */
function keyedCodes({ key, codes, values }: KeyedColumn, rows: number, scratch: Scratch): ColumnValues {
  const found = key.find();
  const newCode = new Map<number, number>();
  const codeOf = new Uint32Array(found.used.length);
  let before = -1;
  let code = NONE;
  for (let i = 0; i < codeOf.length; i++) {
    const old = codes[found.used[i] as number] ?? NONE;
    if (old !== before) {
      before = old;
      code = old >= values.length ? NONE : (newCode.get(old) ?? newCode.size);
      if (code !== NONE) newCode.set(old, code);
    }
    codeOf[i] = code;
  }
  const content = {
    kind: "codes",
    codes: scratch.codes,
    values: pick(values, Uint32Array.from(newCode.keys())),
  } as const;
  const nulls = codeOf.includes(NONE);
  if (newCode.size === 0) return { present: null, count: 0, content: { kind: "none" } };
  if (!nulls && newCode.size === 1) return { present: null, count: rows, content };
  // Each key has its own value: the codes of the keys are those of the values.
  if (!nulls && newCode.size === codeOf.length) {
    return { present: null, count: rows, content: { ...content, codes: found.codes } };
  }
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const code = codeOf[found.codes[row] as number] as number;
    scratch.present[row] = code === NONE ? 0 : 1;
    if (code !== NONE) scratch.codes[count++] = code;
  }
  return { present: count === rows ? null : scratch.present, count, content };
}

/** The array without the rows that have no value. */
function compact(
  data: Numbers,
  valid: Uint8Array,
  rows: number,
  scratch: Scratch,
): { numbers: Numbers; count: number } {
  let count = 0;
  for (let row = 0; row < rows; row++) {
    const isPresent = valid[row] === 0 ? 0 : 1;
    scratch.present[row] = isPresent;
    count += isPresent;
  }
  if (count === rows) return { numbers: data.subarray(0, rows), count };
  const numbers = new (data.constructor as Uint32ArrayConstructor)(count);
  if (count === 0) return { numbers, count };
  const wide = data.BYTES_PER_ELEMENT === 8;
  const from = wide || data.BYTES_PER_ELEMENT === 4 ? wordsOf(data) : (data as Uint16Array);
  const into = wide || data.BYTES_PER_ELEMENT === 4 ? wordsOf(numbers) : numbers;
  let next = 0;
  for (let row = 0; row < rows; row++) {
    if (scratch.present[row] === 0) continue;
    if (wide) {
      into[2 * next] = from[2 * row] as number;
      into[2 * next + 1] = from[2 * row + 1] as number;
    } else into[next] = from[row] as number;
    next++;
  }
  return { numbers, count };
}

/** An array of 32-bit or 64-bit elements as words. */
export function wordsOf(data: Numbers): Uint32Array {
  return new Uint32Array(data.buffer, data.byteOffset, data.byteLength >> 2);
}

/** Numbers of at most 32 bits as words; `room` is for those that are narrower. */
export function widened(data: Numbers, room: Uint32Array): Uint32Array {
  if (data.BYTES_PER_ELEMENT === 4) return wordsOf(data);
  room.set(data as Uint16Array);
  return room.subarray(0, data.length);
}

/** @param data undefined for a column without values */
export function columnValues(
  column: Column,
  data: EncodableColumn | undefined,
  rows: number,
  scratch: Scratch,
): ColumnValues {
  if (data === undefined) return { present: null, count: 0, content: { kind: "none" } };
  if ("key" in data) return keyedCodes(data, rows, scratch);
  if (isStringColumn(data)) return usedCodes(data.codes, data.values, rows, scratch);
  const { numbers, count } = data.valid
    ? compact(data.data, data.valid, rows, scratch)
    : { numbers: data.data.subarray(0, rows), count: rows };
  const present = count === rows || count === 0 ? null : scratch.present;
  if (count === 0) return { present, count, content: { kind: "none" } };
  if (column.type === "bool") return { present, count, content: { kind: "numbers", numbers } };
  if (isConstant(bytesOf(numbers), numbers.BYTES_PER_ELEMENT)) {
    return { present, count, content: { kind: "codes", codes: scratch.codes, values: numbers.slice(0, 1) } };
  }
  const wide = numbers.BYTES_PER_ELEMENT === 8;
  const found = distinctNumbers(wide ? wordsOf(numbers) : widened(numbers, scratch.words), count, wide, scratch.codes);
  if (found === null) return { present, count, content: { kind: "numbers", numbers } };
  return { present, count, content: { kind: "codes", codes: found.codes, values: pick(numbers, found.firstRow) } };
}
