/** Small whole numbers as runs and packed bits: Parquet's RLE/bit-packing hybrid, for levels and dictionary codes. */

/** From so many equal values on, a run takes fewer bytes than packed bits. */
const LEAST_RUN = 16;
/** Groups of 8 values behind one header byte. */
const MOST_GROUPS = 63;
const LONGEST_VARINT = 5;

/** Bits that the values 0 .. most need. */
export function bitWidth(most: number): number {
  return 32 - Math.clz32(most);
}

/** Bytes that the encoding of so many values never exceeds. */
export function hybridRoom(rows: number, width: number): number {
  const groups = Math.ceil(rows / 8) + 1;
  return groups * width + Math.ceil(groups / MOST_GROUPS) + Math.ceil(rows / LEAST_RUN) * (LONGEST_VARINT + 4) + 16;
}

/** Encodes a run of one value; returns the place behind the last byte. */
export function encodeRun(value: number, rows: number, width: number, out: Uint8Array, start: number): number {
  let offset = start;
  let length = rows * 2;
  while (length >= 0x80) {
    out[offset++] = (length % 0x80) | 0x80;
    length = Math.floor(length / 0x80);
  }
  out[offset++] = length;
  for (let bits = 0; bits < width; bits += 8) out[offset++] = value >>> bits;
  return offset;
}

/**
 * Encodes `values[0 .. rows-1]`, each below 2^width; the width is at most 24 bits.
 * Source: github.com/apache/parquet-format, Encodings.md.
 * @returns the place behind the last byte
 */
export function encodeHybrid(values: Uint32Array, rows: number, width: number, out: Uint8Array, start: number): number {
  let position = start;
  /** Place of the header byte of the packed groups that are open, or -1. */
  let header = -1;
  let groups = 0;
  let row = 0;
  while (row < rows) {
    const value = values[row] as number;
    let end = row + 1;
    while (end < rows && values[end] === value) end++;
    if (end - row >= LEAST_RUN || (end === rows && end - row >= 8)) {
      if (header >= 0) out[header] = (groups << 1) | 1;
      header = -1;
      position = encodeRun(value, end - row, width, out, position);
      row = end;
      continue;
    }
    // Whole groups at once: until the next long run could begin.
    const until = Math.min(rows, row + Math.max(8, (end - row) & ~7));
    while (row < until) {
      if (header < 0 || groups === MOST_GROUPS) {
        if (header >= 0) out[header] = (groups << 1) | 1;
        header = position++;
        groups = 0;
      }
      let bits = 0;
      let word = 0;
      const last = Math.min(row + 8, rows);
      for (let i = row; i < last; i++) {
        word |= (values[i] as number) << bits;
        bits += width;
        while (bits >= 8) {
          out[position++] = word;
          word >>>= 8;
          bits -= 8;
        }
      }
      // A last group that is not full is padded with zeros.
      for (let left = (8 - (last - row)) * width + bits; left > 0; left -= 8) {
        out[position++] = word;
        word >>>= 8;
      }
      groups += 1;
      row += 8;
    }
  }
  if (header >= 0) out[header] = (groups << 1) | 1;
  return position;
}
