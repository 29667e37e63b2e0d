/** Validity as one byte per row (ours) and as one bit per row (Arrow's). */

/**
 * Packs bytes into bits, least significant first: a byte that is not 0 becomes 1.
 *
 * Four rows at a time: the bytes are reduced to 0 or 1 and one multiplication gathers them into a nibble.
 *
 * @param bytes at least `rows` bytes
 * @returns ceil(rows / 8) bytes of bits, padding bits 0, and how many of the rows are 0
 */
export function packValidity(bytes: Uint8Array, rows: number): { bits: Uint8Array; zeros: number } {
  const bits = new Uint8Array(Math.ceil(rows / 8));
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice(0, rows);
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, rows >> 2);
  let ones = 0;
  for (let i = 0; i < words.length; i++) {
    let word = words[i] ?? 0;
    word |= (word & 0xf0f0f0f0) >>> 4;
    word |= (word & 0x0c0c0c0c) >>> 2;
    word |= (word & 0x02020202) >>> 1;
    word &= 0x01010101;
    const nibble = (Math.imul(word, 0x01020408) >>> 24) & 15;
    ones += (nibble & 1) + ((nibble >> 1) & 1) + ((nibble >> 2) & 1) + (nibble >> 3);
    const index = i >> 1;
    bits[index] = (bits[index] ?? 0) | (nibble << ((i & 1) * 4));
  }
  for (let row = words.length * 4; row < rows; row++) {
    if (bytes[row] === 0) continue;
    ones += 1;
    bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7));
  }
  return { bits, zeros: rows - ones };
}

/** Unpacks `rows` bits, beginning at bit `offset`, into bytes of 0 or 1. */
export function unpackValidity(bits: Uint8Array, offset: number, rows: number): Uint8Array {
  const bytes = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    const bit = offset + row;
    bytes[row] = ((bits[bit >> 3] ?? 0) >> (bit & 7)) & 1;
  }
  return bytes;
}
