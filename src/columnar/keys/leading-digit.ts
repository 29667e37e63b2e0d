/** Rows into order of the first digit in which any two of their numbers differ, so that each part can be sorted alone. */

const DIGIT_BITS = 11;
const DIGITS = 1 << DIGIT_BITS;
const SIGN = 0x80000000;

export type Numbers = Float64Array | Uint32Array;

/** Words of one number, as they are in order: see Herf, "Radix Tricks" (2001). */
const oneNumber = new Float64Array(1);
const words = new Uint32Array(oneNumber.buffer);

function setWords(value: number): void {
  // There is no negative zero.
  oneNumber[0] = value + 0;
  const high = words[1] as number;
  if (high & SIGN) {
    words[0] = ~(words[0] as number);
    words[1] = ~high;
  } else words[1] = high | SIGN;
}

/** The digit of the words whose last of 64 bits is `bit`. */
function digitAt(bit: number): number {
  const high = words[1] as number;
  const low = words[0] as number;
  if (bit >= 32) return (high >>> (bit - 32)) & (DIGITS - 1);
  return ((bit === 0 ? 0 : high << (32 - bit)) | (low >>> bit)) & (DIGITS - 1);
}

/** Last bit of the digit that begins with the first bit in which two numbers differ. */
function firstDigit(least: number, most: number): number {
  setWords(least);
  const low = words[0] as number;
  const high = words[1] as number;
  setWords(most);
  const above = (words[1] as number) ^ high;
  const top = above === 0 ? 31 - Math.clz32((words[0] as number) ^ low) : 63 - Math.clz32(above);
  return Math.max(0, top - DIGIT_BITS + 1);
}

/**
 * Brings rows [from, end) into order of their first digit that differs; those of one digit stay in their order.
 * @param values no NaN
 * @param scratch as long as `rows`; its part [from, end) is something else afterwards
 * @returns the end of the rows of each digit; null where all numbers are equal
 */
export function divideRows(
  rows: Uint32Array,
  scratch: Uint32Array,
  values: Numbers,
  from: number,
  end: number,
): Uint32Array | null {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = from; i < end; i++) {
    const value = values[rows[i] as number] as number;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least === most) return null;
  const bit = firstDigit(least, most);
  const places = new Uint32Array(DIGITS);
  for (let i = from; i < end; i++) {
    setWords(values[rows[i] as number] as number);
    const digit = digitAt(bit);
    places[digit] = (places[digit] as number) + 1;
  }
  let begin = from;
  for (let digit = 0; digit < DIGITS; digit++) {
    const count = places[digit] as number;
    places[digit] = begin;
    begin += count;
  }
  for (let i = from; i < end; i++) {
    const row = rows[i] as number;
    setWords(values[row] as number);
    const digit = digitAt(bit);
    const place = places[digit] as number;
    scratch[place] = row;
    places[digit] = place + 1;
  }
  for (let i = from; i < end; i++) rows[i] = scratch[i] as number;
  return places;
}
