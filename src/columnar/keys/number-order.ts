/** Rows into order of a column of numbers, rows of equal ones as they were: a radix sort, in time linear in the rows. */
import { collectAround } from "../collect-after.ts";
import { divideRows, type Numbers } from "./leading-digit.ts";
import { radixPass, varyingBits } from "./radix-pass.ts";

const DIGIT_BITS = 11;
const DIGITS = 1 << DIGIT_BITS;
const SIGN = 0x80000000;

/** The numbers as words that are in order where the numbers are: see Herf, "Radix Tricks" (2001). */
function sortableWords(numbers: Float64Array<ArrayBuffer>): Uint32Array {
  const words = new Uint32Array(numbers.buffer);
  for (let low = 0; low < words.length; low += 2) {
    const high = words[low + 1] as number;
    if (high & SIGN) {
      words[low] = ~(words[low] as number);
      words[low + 1] = ~high;
    } else words[low + 1] = high | SIGN;
  }
  return words;
}

/**
 * Positions of the numbers, that of the least first.
 * @param numbers no NaN and no negative zero; they are something else afterwards, so that nothing is there twice
 */
export function positionsInOrder(numbers: Float64Array<ArrayBuffer>): Uint32Array {
  const n = numbers.length;
  collectAround(n);
  const words = sortableWords(numbers);
  const places = new Uint32Array(DIGITS);
  let from = new Uint32Array(n);
  let target = new Uint32Array(n);
  for (let i = 0; i < n; i++) from[i] = i;
  for (const offset of [0, 1]) {
    const varying = varyingBits(words, n, 2, offset);
    for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
      if (((varying >>> shift) & (DIGITS - 1)) === 0) continue;
      radixPass(from, target, { words, stride: 2, offset, shift }, n, places);
      [from, target] = [target, from];
    }
  }
  return from;
}

/** Rows that are sorted by a copy of their numbers, at most: more are divided by their leading digits first. */
const COPIED_ROWS = 1 << 16;

/** Sorts rows [from, end) by a copy of their numbers. */
function sortByCopy(rows: Uint32Array, values: Numbers, from: number, end: number): void {
  const numbers = new Float64Array(end - from);
  let isOrdered = true;
  for (let i = 0; i < numbers.length; i++) {
    // There is no negative zero.
    numbers[i] = (values[rows[from + i] as number] as number) + 0;
    if (i > 0 && (numbers[i] as number) < (numbers[i - 1] as number)) isOrdered = false;
  }
  if (isOrdered) return;
  const order = positionsInOrder(numbers);
  for (let i = 0; i < order.length; i++) order[i] = rows[from + (order[i] as number)] as number;
  rows.set(order, from);
}

/** Sorts rows [from, end): where they are many, parts of them whose numbers begin alike, one after the other. */
function sortRows(rows: Uint32Array, scratch: Uint32Array, values: Numbers, from: number, end: number): void {
  if (end - from <= COPIED_ROWS) {
    sortByCopy(rows, values, from, end);
    return;
  }
  const ends = divideRows(rows, scratch, values, from, end);
  if (ends === null) return;
  let done = from;
  for (let digit = 0; digit < ends.length; digit++) {
    const until = ends[digit] as number;
    // Small parts that follow each other are sorted as one.
    if (digit + 1 < ends.length && (ends[digit + 1] as number) - done <= COPIED_ROWS) continue;
    if (until > done) sortRows(rows, scratch, values, done, until);
    done = until;
  }
}

/**
 * The same rows, least number first. Beside the rows and their order there is one more array of that length, and no copy of
 * all numbers.
 * @param rows positions in `values`, each once
 * @param values no NaN
 * @returns `rows` itself where it is in order
 */
export function numberOrder(rows: Uint32Array, values: Numbers): Uint32Array {
  const n = rows.length;
  let ordered = 1;
  while (
    ordered < n &&
    (values[rows[ordered - 1] as number] as number) <= (values[rows[ordered] as number] as number)
  ) {
    ordered += 1;
  }
  if (ordered >= n) return rows;
  collectAround(n);
  const sorted = rows.slice();
  sortRows(sorted, n > COPIED_ROWS ? new Uint32Array(n) : sorted, values, 0, n);
  return sorted;
}

/** All rows from 0. */
export function everyRow(count: number): Uint32Array {
  const rows = new Uint32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  return rows;
}
