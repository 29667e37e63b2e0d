/** Whole numbers out of differences in packed bits: Parquet's DELTA_BINARY_PACKED, of differences below 2^53. */

const WORD = 2 ** 32;
const MOST = 2 ** 53;
/** Larger blocks are legal, and nobody writes them. */
const LARGEST_BLOCK = 1 << 16;

/** The number before the next one: its low word, and its high word. */
const before = new Float64Array(2);

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
  let at = start;

  function varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 70; scale *= 0x80) {
      const part = bytes[at++];
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
  let to = outAt;
  const last = outAt + count;
  const step = wide ? 2 : 1;
  out[step * to] = before[0] as number;
  if (wide) out[2 * to + 1] = before[1] as number;
  to += 1;
  while (to < last) {
    const least = zigzag();
    const widths = at;
    at += minis;
    for (let mini = 0; mini < minis && to < last; mini++) {
      const width = bytes[widths + mini] ?? 255;
      if (width > 32) throw new Error(`differences of ${width} bits`);
      const values = Math.min(size, last - to);
      if (Math.ceil((values * width) / 8) > bytes.length - at) {
        throw new Error("differences end before the numbers of a page do");
      }
      (wide ? addWide : addNarrow)(view, at, width, least, values, out, to);
      to += values;
      at += (size / 8) * width;
    }
  }
}

/** A value of up to 32 bits that begins at any bit. */
function packed(view: DataView, at: number, bit: number, width: number): number {
  const place = at + (bit >>> 3);
  const shift = bit & 7;
  let word = (place + 4 <= view.byteLength ? view.getUint32(place, true) : lastWord(view, place)) >>> shift;
  if (shift + width > 32) word |= view.getUint8(place + 4) << (32 - shift);
  return width === 32 ? word >>> 0 : word & ((1 << width) - 1);
}

/** Four bytes of which the last ones lie behind the end. */
function lastWord(view: DataView, place: number): number {
  let word = 0;
  for (let k = 0; place + k < view.byteLength; k++) word |= view.getUint8(place + k) << (8 * k);
  return word >>> 0;
}

// A loop of its own for each width: the compiler then makes good code of both.

function addWide(
  view: DataView,
  at: number,
  width: number,
  least: number,
  values: number,
  out: Uint32Array,
  to: number,
): void {
  const stepHigh = Math.floor(least / WORD);
  const stepLow = least - stepHigh * WORD;
  let low = before[0] as number;
  let high = before[1] as number;
  for (let i = 0, bit = 0; i < values; i++, bit += width) {
    low += stepLow + packed(view, at, bit, width);
    high += stepHigh;
    while (low >= WORD) {
      low -= WORD;
      high += 1;
    }
    out[2 * (to + i)] = low;
    out[2 * (to + i) + 1] = high;
  }
  before[0] = low;
  before[1] = high;
}

function addNarrow(
  view: DataView,
  at: number,
  width: number,
  least: number,
  values: number,
  out: Uint32Array,
  to: number,
): void {
  let value = before[0] as number;
  for (let i = 0, bit = 0; i < values; i++, bit += width) {
    value = (value + least + packed(view, at, bit, width)) % WORD;
    out[to + i] = value;
  }
  before[0] = value;
}
