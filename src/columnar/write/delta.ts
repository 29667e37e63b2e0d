/** Whole numbers as differences in packed bits: Parquet's DELTA_BINARY_PACKED. */

const BLOCK = 128;
const MINIBLOCKS = 4;
const MINIBLOCK = BLOCK / MINIBLOCKS;
const WORD = 2 ** 32;
const HEADER_BYTES = 32;
/** Header of a block: its least difference and four widths. */
const BLOCK_HEADER_BYTES = 10 + MINIBLOCKS;
/** Differences beyond it are not exact as numbers, or overflow the column's own type. */
const MOST_WIDE = 2 ** 52;
const MOST_NARROW = 2 ** 31;

/** Bytes that the encoding of so many values never exceeds. */
export function deltaRoom(rows: number): number {
  const blocks = Math.ceil(rows / BLOCK);
  return HEADER_BYTES + blocks * (BLOCK_HEADER_BYTES + 4 * BLOCK);
}

export interface Differences {
  /** Place behind the last byte. */
  readonly end: number;
  /** True where no number is negative, or less than the one before. */
  readonly ascending: boolean;
}

const deltas = new Float64Array(BLOCK);
/** How much each is above the least of its block. */
const above = new Uint32Array(BLOCK);
/** Least and greatest of them. */
const extremes = new Float64Array(2);

/**
 * Encodes whole numbers.
 * Source: github.com/apache/parquet-format, Encodings.md.
 * @param words 64-bit numbers as pairs of words, low word first, or 32-bit numbers; read as signed
 * @returns null where differences are too large: such numbers are better written plain
 */
export function encodeDelta(
  words: Int32Array,
  rows: number,
  wide: boolean,
  out: Uint8Array,
  start: number,
): Differences | null {
  let at = start;

  /** @param value below 2^53, as its zigzag form may be twice as large */
  function zigzag(value: number): void {
    let rest = value < 0 ? -2 * value - 1 : 2 * value;
    while (rest >= 0x80) {
      out[at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    out[at++] = rest;
  }

  function varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      out[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    out[at++] = rest;
  }

  varint(BLOCK);
  varint(MINIBLOCKS);
  varint(rows);
  const first =
    rows === 0 ? 0 : wide ? (words[1] as number) * WORD + ((words[0] as number) >>> 0) : (words[0] as number);
  if (Math.abs(first) > MOST_WIDE) return null;
  zigzag(first);
  let ascending = first >= 0;
  const most = wide ? MOST_WIDE : MOST_NARROW - 1;
  for (let row = 1; row < rows; row += BLOCK) {
    const count = Math.min(BLOCK, rows - row);
    if (wide) wideDeltas(words, row, count);
    else narrowDeltas(words, row, count);
    const least = extremes[0] as number;
    const greatest = extremes[1] as number;
    if (greatest > most || least < -most || greatest - least >= WORD) return null;
    zigzag(least);
    ascending &&= least >= 0;
    const widths = at;
    at += MINIBLOCKS;
    for (let mini = 0; mini < MINIBLOCKS; mini++) {
      const begin = mini * MINIBLOCK;
      const end = Math.min(begin + MINIBLOCK, count);
      let bits = 0;
      for (let i = begin; i < end; i++) {
        const value = ((deltas[i] as number) - least) >>> 0;
        above[i] = value;
        bits |= value;
      }
      const width = begin < count ? 32 - Math.clz32(bits) : 0;
      out[widths + mini] = width;
      at = width === 0 ? at : pack(begin, end, width, out, at);
    }
  }
  return { end: at, ascending };
}

// A loop of its own for each width: the compiler then makes good code of both.

function wideDeltas(words: Int32Array, row: number, count: number): void {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  let lowBefore = (words[2 * row - 2] as number) >>> 0;
  let highBefore = words[2 * row - 1] as number;
  for (let i = 0; i < count; i++) {
    const low = (words[2 * (row + i)] as number) >>> 0;
    const high = words[2 * (row + i) + 1] as number;
    const delta = (high - highBefore) * WORD + (low - lowBefore);
    lowBefore = low;
    highBefore = high;
    deltas[i] = delta;
    if (delta < least) least = delta;
    if (delta > greatest) greatest = delta;
  }
  extremes[0] = least;
  extremes[1] = greatest;
}

function narrowDeltas(words: Int32Array, row: number, count: number): void {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const delta = (words[row + i] as number) - (words[row + i - 1] as number);
    deltas[i] = delta;
    if (delta < least) least = delta;
    if (delta > greatest) greatest = delta;
  }
  extremes[0] = least;
  extremes[1] = greatest;
}

/** Packs one miniblock; values behind its end are 0. */
function pack(begin: number, end: number, width: number, out: Uint8Array, start: number): number {
  let at = start;
  let word = 0;
  let filled = 0;
  for (let i = begin; i < begin + MINIBLOCK; i++) {
    const value = i < end ? (above[i] as number) : 0;
    word |= value << filled;
    filled += width;
    if (filled < 32) continue;
    out[at] = word;
    out[at + 1] = word >>> 8;
    out[at + 2] = word >>> 16;
    out[at + 3] = word >>> 24;
    at += 4;
    filled -= 32;
    word = filled > 0 ? value >>> (width - filled) : 0;
  }
  return at;
}
