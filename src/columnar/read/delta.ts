/** Whole numbers out of differences in packed bits: Parquet's DELTA_BINARY_PACKED, of differences below 2^53. */

const WORD = 2 ** 32;
const MOST = 2 ** 53;
/** Larger blocks are legal, and nobody writes them. */
const LARGEST_BLOCK = 1 << 12;

/** The number before the next one: its low word, and its high word. */
const before = new Int32Array(2);
/** Differences of a part of a block, above the least of the block, as unsigned words. */
const values = new Int32Array(LARGEST_BLOCK);

/**
 * Decodes `count` numbers into `out` from `outAt` on, as words: two for a wide number, low word first.
 * Source: github.com/apache/parquet-format, Encodings.md.
 * @throws Error where the bytes end before the numbers do, or a difference is too large
 */
export function decodeDelta(
  bytes: Uint8Array,
  start: number,
  wide: boolean,
  count: number,
  out: Uint32Array,
  outAt: number,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = start;

  function varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 0x80) {
      const part = bytes[offset++];
      if (part === undefined) throw new Error("differences end before the numbers of a page do");
      value += (part & 0x7f) * scale;
      if (part < 0x80) return value;
    }
    throw new Error("a difference does not end");
  }

  function zigzag(): number {
    const value = varint();
    if (value >= MOST) throw new Error("a difference beyond 2^52");
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  const block = varint();
  const minis = varint();
  const total = varint();
  const size = block / minis;
  if (!(block <= LARGEST_BLOCK && Number.isInteger(size) && size % 8 === 0) || total < count) {
    throw new Error(`blocks of ${block} differences in ${minis} parts, ${total} numbers`);
  }
  if (count === 0) return;
  const first = zigzag();
  before[1] = Math.floor(first / WORD);
  before[0] = first - Math.floor(first / WORD) * WORD;
  let nextOut = outAt;
  const last = outAt + count;
  const step = wide ? 2 : 1;
  out[step * nextOut] = before[0] as number;
  if (wide) out[2 * nextOut + 1] = before[1] as number;
  nextOut += 1;
  while (nextOut < last) {
    const least = zigzag();
    const widths = offset;
    offset += minis;
    for (let mini = 0; mini < minis && nextOut < last; mini++) {
      const width = bytes[widths + mini] ?? 255;
      if (width > 32) throw new Error(`differences of ${width} bits`);
      const here = Math.min(size, last - nextOut);
      if (Math.ceil((here * width) / 8) > bytes.length - offset) {
        throw new Error("differences end before the numbers of a page do");
      }
      unpack(view, offset, width, here);
      if (wide) addWide(least, here, out, nextOut);
      else addNarrow(least, here, out, nextOut);
      nextOut += here;
      offset += (size / 8) * width;
    }
  }
}

/** Unpacks values of up to 32 bits, each of which may begin at any bit. */
function unpack(view: DataView, start: number, width: number, count: number): void {
  // A place that is no small integer is slow to read from.
  const position = start | 0;
  if (width === 0) {
    values.fill(0, 0, count);
    return;
  }
  const mask = width === 32 ? 0xffffffff : (1 << width) - 1;
  // Four bytes are read for each value, and the fifth where one reaches into it.
  const whole = Math.min(count, Math.max(0, Math.floor(((view.byteLength - position - 5) * 8) / width)));
  let bit = 0;
  if (width <= 25) {
    for (let i = 0; i < whole; i++, bit += width) {
      values[i] = (view.getInt32(position + (bit >>> 3), true) >>> (bit & 7)) & mask;
    }
  } else {
    for (let i = 0; i < whole; i++, bit += width) {
      const place = position + (bit >>> 3);
      const shift = bit & 7;
      // A shift by 32 is one by 0: a value that ends with its word takes nothing of the byte behind it.
      const rest = shift + width > 32 ? view.getUint8(place + 4) << (32 - shift) : 0;
      values[i] = ((view.getInt32(place, true) >>> shift) | rest) & mask;
    }
  }
  for (let i = whole; i < count; i++, bit += width) values[i] = lastValue(view, position + (bit >>> 3), bit & 7, width);
}

/** A value some of whose five bytes lie behind the end. */
function lastValue(view: DataView, place: number, shift: number, width: number): number {
  let value = 0;
  for (let k = 0; k < 5 && place + k < view.byteLength; k++) value += view.getUint8(place + k) * 2 ** (8 * k);
  return Math.floor(value / 2 ** shift) % 2 ** width;
}

// A loop of its own for each width: the compiler then makes good code of both. Signed words all the way: a number beyond
// 2^31 is slow to make a word of.

/** Turns the order of unsigned words into that of signed ones. */
const SIGN = 0x80000000 | 0;

function addWide(least: number, count: number, out: Uint32Array, start: number): void {
  const stepHigh = Math.floor(least / WORD) | 0;
  const stepLow = (least - Math.floor(least / WORD) * WORD) | 0;
  let low = before[0] as number;
  let high = before[1] as number;
  for (let i = 0; i < count; i++) {
    const once = (low + stepLow) | 0;
    const next = (once + (values[i] as number)) | 0;
    // A sum that is less than what was added to has gone beyond its word.
    if ((once ^ SIGN) < (low ^ SIGN)) high = (high + 1) | 0;
    if ((next ^ SIGN) < (once ^ SIGN)) high = (high + 1) | 0;
    high = (high + stepHigh) | 0;
    low = next;
    out[2 * (start + i)] = low;
    out[2 * (start + i) + 1] = high;
  }
  before[0] = low;
  before[1] = high;
}

function addNarrow(least: number, count: number, out: Uint32Array, first: number): void {
  const step = least | 0;
  let value = before[0] as number;
  for (let i = 0; i < count; i++) {
    value = (value + step + (values[i] as number)) | 0;
    out[first + i] = value;
  }
  before[0] = value;
}
