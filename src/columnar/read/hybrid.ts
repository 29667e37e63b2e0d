/** Small whole numbers out of runs and packed bits: Parquet's RLE/bit-packing hybrid, for levels and dictionary codes. */

/** A packed value of so many bits lies within four bytes, wherever it begins. */
const WIDEST = 25;

/**
 * Decodes `count` values into `out` from `outAt` on.
 * Source: github.com/apache/parquet-format, Encodings.md.
 * @param width bits of a value, at most 25
 * @param end place behind the last byte that may be read
 * @throws Error where the bytes end before the values do, or the width is larger
 */
export function decodeHybrid(
  bytes: Uint8Array,
  start: number,
  end: number,
  width: number,
  count: number,
  out: Uint32Array,
  outAt: number,
): void {
  if (width > WIDEST) throw new Error(`codes of ${width} bits`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const last = outAt + count;
  let written = outAt;
  let offset = start;
  while (written < last) {
    let header = 0;
    let scale = 1;
    for (;;) {
      if (offset >= end || scale > 2 ** 35) throw new Error("runs end before the values of a page do");
      const part = bytes[offset++] as number;
      header += (part & 0x7f) * scale;
      if (part < 0x80) break;
      scale *= 0x80;
    }
    if (header % 2 === 0) {
      const next = Math.min(last, written + header / 2);
      let value = 0;
      for (let shift = 0; shift < width; shift += 8) {
        if (offset >= end) throw new Error("a run ends before its value");
        value |= (bytes[offset++] as number) << shift;
      }
      if (value >>> width > 0) throw new Error(`a run of ${value >>> 0} in ${width} bits`);
      out.fill(value, written, next);
      written = next;
      continue;
    }
    const values = Math.min(last - written, ((header - 1) / 2) * 8);
    const packed = ((header - 1) / 2) * width;
    // The last group of a page need not be whole.
    if (Math.ceil((values * width) / 8) > end - offset) throw new Error("packed values end before those of a page do");
    unpack(bytes, view, offset, width, values, out, written);
    written += values;
    offset += packed;
  }
}

/** The one bit of which all values are, where they are a single run; null where they are not. */
export function runOf(bytes: Uint8Array, start: number, end: number, count: number): number | null {
  let header = 0;
  let position = start;
  for (let shift = 0; shift < 28; shift += 7) {
    const part = position < end ? (bytes[position++] as number) : 0x80;
    header |= (part & 0x7f) << shift;
    if (part < 0x80)
      return header % 2 === 0 && header / 2 >= count && position < end ? (bytes[position] as number) : null;
  }
  return null;
}

function unpack(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  width: number,
  values: number,
  out: Uint32Array,
  outAt: number,
): void {
  // A place that is no small integer is slow to read from.
  const byte = start | 0;
  const mask = width === 0 ? 0 : 0xffffffff >>> (32 - width);
  // Four bytes are read for each value: the last ones may be too near to the end of the memory.
  const whole = width === 0 ? 0 : Math.min(values, Math.max(0, Math.floor(((view.byteLength - byte - 4) * 8) / width)));
  let bit = 0;
  for (let i = 0; i < whole; i++, bit += width) {
    out[outAt + i] = (view.getInt32(byte + (bit >>> 3), true) >>> (bit & 7)) & mask;
  }
  for (let i = whole; i < values; i++, bit += width) {
    let word = 0;
    for (let k = 0; k < 4; k++) word |= (bytes[byte + (bit >>> 3) + k] ?? 0) << (8 * k);
    out[outAt + i] = (word >>> (bit & 7)) & mask;
  }
}
