/** Rows into order of a column of numbers, rows of equal ones as they were: a radix sort, in time linear in the rows. */
import { collectAround } from "../collect-after.ts";

const DIGIT_BITS = 11;
const DIGITS = 1 << DIGIT_BITS;
const SIGN = 0x80000000;

/** The words of the numbers where they lie; where some are negative a copy, so turned that the words are in order where the numbers are: see Herf, "Radix Tricks" (2001). */
function sortableWords(values: Float64Array | Uint32Array): Uint32Array {
  if (values instanceof Uint32Array) return values;
  const words = new Uint32Array(values.buffer, values.byteOffset, 2 * values.length);
  let signs = 0;
  for (let high = 1; high < words.length; high += 2) signs |= words[high] as number;
  if ((signs & SIGN) === 0) return words;
  const turned = words.slice();
  for (let low = 0; low < turned.length; low += 2) {
    const high = turned[low + 1] as number;
    if (high & SIGN) {
      turned[low] = ~(turned[low] as number);
      turned[low + 1] = ~high;
    } else turned[low + 1] = high | SIGN;
  }
  return turned;
}

/** Brings the rows of `from` into order of the digit at `shift` of the word at `stride * row + offset`. */
function digitPass(
  from: Uint32Array,
  out: Uint32Array,
  words: Uint32Array,
  stride: number,
  offset: number,
  shift: number,
): void {
  const places = new Uint32Array(DIGITS);
  for (let i = 0; i < from.length; i++) {
    const digit = ((words[stride * (from[i] as number) + offset] as number) >>> shift) & (DIGITS - 1);
    places[digit] = (places[digit] as number) + 1;
  }
  let begin = 0;
  for (let digit = 0; digit < DIGITS; digit++) {
    const count = places[digit] as number;
    places[digit] = begin;
    begin += count;
  }
  for (let i = 0; i < from.length; i++) {
    const row = from[i] as number;
    const digit = ((words[stride * row + offset] as number) >>> shift) & (DIGITS - 1);
    const place = places[digit] as number;
    out[place] = row;
    places[digit] = place + 1;
  }
}

/**
 * The same rows, least number first. The numbers are read where they lie: a run may have millions, and only the order of
 * them is made.
 * @param rows positions in `values`, each once
 * @param values no NaN, and no negative zero
 * @returns `rows` itself where it is in order
 */
export function numberOrder(rows: Uint32Array, values: Float64Array | Uint32Array): Uint32Array {
  const n = rows.length;
  let isOrdered = true;
  for (let i = 1; i < n && isOrdered; i++) {
    isOrdered = (values[rows[i] as number] as number) >= (values[rows[i - 1] as number] as number);
  }
  if (isOrdered) return rows;
  collectAround(n);
  const words = sortableWords(values);
  const stride = values instanceof Float64Array ? 2 : 1;
  let from = rows.slice();
  let target = new Uint32Array(n);
  for (let offset = 0; offset < stride; offset++) {
    const first = words[stride * (rows[0] as number) + offset] as number;
    let varying = 0;
    for (const row of rows) varying |= (words[stride * row + offset] as number) ^ first;
    for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
      if (((varying >>> shift) & (DIGITS - 1)) === 0) continue;
      digitPass(from, target, words, stride, offset, shift);
      [from, target] = [target, from];
    }
  }
  return from;
}

/** All rows from 0. */
export function everyRow(count: number): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  return rows;
}
