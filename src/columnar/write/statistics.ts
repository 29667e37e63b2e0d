/** Least and greatest value of a column chunk: what a reader leaves row groups out by. */
import type { Column } from "../../schema/columns.ts";
import { ARRAY_TYPES } from "../arrays.ts";
import type { Numbers } from "./column-values.ts";
import { bytesOf } from "./plain.ts";

export interface Bounds {
  readonly least: Uint8Array;
  readonly greatest: Uint8Array;
}

/** Longer texts are of no use to a reader that wants to leave something out. */
const LONGEST_TEXT_BYTES = 64;

/** Bounds of texts by their bytes; null where one is long. */
export function textBounds(texts: readonly Uint8Array[]): Bounds | null {
  const [first, ...others] = texts;
  if (first === undefined || texts.some((text) => text.length > LONGEST_TEXT_BYTES)) return null;
  let [least, greatest] = [first, first];
  for (const text of others) {
    if (Buffer.compare(text, least) < 0) least = text;
    if (Buffer.compare(text, greatest) > 0) greatest = text;
  }
  return { least, greatest };
}

const SIGN = -(2 ** 31);

/** Rows of the least and of the greatest number. */
function extremes(numbers: Numbers): [least: number, greatest: number] {
  let [least, greatest] = [0, 0];
  if (!(numbers instanceof BigUint64Array || numbers instanceof BigInt64Array)) {
    for (let row = 1; row < numbers.length; row++) {
      if ((numbers[row] as number) < (numbers[least] as number)) least = row;
      if ((numbers[row] as number) > (numbers[greatest] as number)) greatest = row;
    }
    return [least, greatest];
  }
  const words = new Int32Array(numbers.buffer, numbers.byteOffset, 2 * numbers.length);
  return wideExtremes(words, numbers.length, numbers instanceof BigInt64Array ? 0 : SIGN);
}

/** Of pairs of words, low word first; `flip` makes unsigned high words compare as signed ones do. */
function wideExtremes(words: Int32Array, rows: number, flip: number): [least: number, greatest: number] {
  let [least, greatest] = [0, 0];
  let leastHigh = (words[1] as number) ^ flip;
  let leastLow = (words[0] as number) ^ SIGN;
  let greatestHigh = leastHigh;
  let greatestLow = leastLow;
  for (let row = 1; row < rows; row++) {
    const high = (words[2 * row + 1] as number) ^ flip;
    const low = (words[2 * row] as number) ^ SIGN;
    if (high < leastHigh || (high === leastHigh && low < leastLow)) {
      leastHigh = high;
      leastLow = low;
      least = row;
    }
    if (high > greatestHigh || (high === greatestHigh && low > greatestLow)) {
      greatestHigh = high;
      greatestLow = low;
      greatest = row;
    }
  }
  return [least, greatest];
}

/** Bounds of whole numbers, in the bytes of their physical type; null for other columns. */
export function numberBounds(column: Column, numbers: Numbers): Bounds | null {
  if (column.type === "string" || column.type === "bool" || column.type === "f32" || column.type === "f64") return null;
  if (numbers.length === 0) return null;
  const { type } = column;
  const [least, greatest] = extremes(numbers).map((row) => {
    const one = new ARRAY_TYPES[type](1) as Uint32Array;
    one[0] = (numbers as Uint32Array)[row] as number;
    return one.BYTES_PER_ELEMENT < 4 ? bytesOf(Uint32Array.of(one[0] ?? 0)) : bytesOf(one);
  });
  return least === undefined || greatest === undefined ? null : { least, greatest };
}
