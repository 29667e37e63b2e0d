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

/** Differences of a block: those that fit in 32 bits, or any. */
const near = new Int32Array(BLOCK);
const far = new Float64Array(BLOCK);
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
  let offset = start;

  /** @param value below 2^53, as its zigzag form may be twice as large */
  function zigzag(value: number): void {
    let rest = value < 0 ? -2 * value - 1 : 2 * value;
    while (rest >= 0x80) {
      out[offset++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    out[offset++] = rest;
  }

  function varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      out[offset++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    out[offset++] = rest;
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
  const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
  for (let row = 1; row < rows; row += BLOCK) {
    const count = Math.min(BLOCK, rows - row);
    const isNear = wide && nearDeltas(words, row, count);
    if (!wide) narrowDeltas(words, row, count);
    else if (!isNear) wideDeltas(words, row, count);
    const least = extremes[0] as number;
    const greatest = extremes[1] as number;
    if (greatest > most || least < -most || greatest - least >= WORD) return null;
    zigzag(least);
    ascending &&= least >= 0;
    const widths = offset;
    offset += MINIBLOCKS;
    if (least === greatest) {
      out.fill(0, widths, offset);
      continue;
    }
    if (count < BLOCK) above.fill(0, count);
    for (let mini = 0; mini < MINIBLOCKS; mini++) {
      const begin = mini * MINIBLOCK;
      const end = Math.min(begin + MINIBLOCK, count);
      const width = isNear ? nearAbove(begin, end, least) : farAbove(begin, end, least);
      out[widths + mini] = width;
      if (width > 0) offset = pack(begin, width, view, offset);
    }
  }
  return { end: offset, ascending };
}

// A loop of its own for each form of the numbers: the compiler then makes good code of all of them.

/** Differences of 64-bit numbers that lie close to each other; false, and nothing of use, where one of them does not. */
function nearDeltas(words: Int32Array, row: number, count: number): boolean {
  let least = MOST_NARROW - 1;
  let greatest = -MOST_NARROW;
  let before = words[2 * row - 2] as number;
  const high = words[2 * row - 1] as number;
  /** Not 0 where a high word differs; its sign is set where a low word is further away than a signed number says. */
  let elsewhere = 0;
  let wrapped = 0;
  for (let i = 0; i < count; i++) {
    const low = words[2 * (row + i)] as number;
    const delta = (low - before) | 0;
    elsewhere |= (words[2 * (row + i) + 1] as number) ^ high;
    // The sign of the first part is the borrow of the unsigned difference (Hacker's Delight, section 2-16).
    wrapped |= ((~low & before) | ((~low | before) & delta)) ^ delta;
    before = low;
    near[i] = delta;
    if (delta < least) least = delta;
    if (delta > greatest) greatest = delta;
  }
  extremes[0] = least;
  extremes[1] = greatest;
  return elsewhere === 0 && wrapped >= 0;
}

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
    far[i] = delta;
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
    far[i] = delta;
    if (delta < least) least = delta;
    if (delta > greatest) greatest = delta;
  }
  extremes[0] = least;
  extremes[1] = greatest;
}

/** Fills `above` for values `begin .. end-1`; returns the bits of the greatest, 0 where there are none. */
function nearAbove(begin: number, end: number, least: number): number {
  // Of 32 bits as they are: the difference is taken without a sign.
  const low = least | 0;
  let bits = 0;
  for (let i = begin; i < end; i++) {
    const value = ((near[i] as number) - low) | 0;
    above[i] = value;
    bits |= value;
  }
  return 32 - Math.clz32(bits);
}

function farAbove(begin: number, end: number, least: number): number {
  let bits = 0;
  for (let i = begin; i < end; i++) {
    const value = (far[i] as number) - least;
    above[i] = value;
    bits |= value;
  }
  return 32 - Math.clz32(bits);
}

/** Packs one miniblock. */
function pack(begin: number, width: number, out: DataView, start: number): number {
  let offset = start;
  let word = 0;
  let filled = 0;
  for (let i = begin; i < begin + MINIBLOCK; i++) {
    const value = above[i] as number;
    word |= value << filled;
    filled += width;
    if (filled < 32) continue;
    out.setInt32(offset, word, true);
    offset += 4;
    filled -= 32;
    word = filled > 0 ? value >>> (width - filled) : 0;
  }
  return offset;
}
