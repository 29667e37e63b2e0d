/** One pass of a radix sort of row numbers, by one digit of a key that each row has. */

export interface Digit {
  /** Words in which the keys lie: that of a row is at `stride * row + offset`. */
  readonly words: Uint32Array;
  readonly stride: number;
  readonly offset: number;
  /** Lowest bit of the digit. */
  readonly shift: number;
}

/**
 * Brings the rows of `from` into order of the digit; those of one digit stay in their order.
 * @param from row numbers, each below `rows` once
 * @param places room for a count of every digit, whose number is a power of two
 */
export function radixPass(
  from: Uint32Array,
  out: Uint32Array,
  { words, stride, offset, shift }: Digit,
  rows: number,
  places: Uint32Array,
): void {
  const mask = places.length - 1;
  places.fill(0);
  for (let row = 0, word = offset; row < rows; row++, word += stride) {
    const digit = ((words[word] as number) >>> shift) & mask;
    places[digit] = (places[digit] as number) + 1;
  }
  let begin = 0;
  for (let digit = 0; digit <= mask; digit++) {
    const count = places[digit] as number;
    places[digit] = begin;
    begin += count;
  }
  for (let i = 0; i < rows; i++) {
    const row = from[i] as number;
    const digit = ((words[stride * row + offset] as number) >>> shift) & mask;
    const place = places[digit] as number;
    out[place] = row;
    places[digit] = place + 1;
  }
}

/** Bits in which any two of the keys differ. */
export function varyingBits(words: Uint32Array, rows: number, stride: number, offset: number): number {
  const first = words[offset] as number;
  let bits = 0;
  for (let row = 1; row < rows; row++) bits |= (words[stride * row + offset] as number) ^ first;
  return bits;
}
