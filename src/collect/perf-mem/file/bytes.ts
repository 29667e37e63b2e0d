/** Bounds-checked reads in the byte order of the file. */

export interface Bytes {
  readonly length: number;
  /** True where the file was written in the other byte order, big-endian. */
  readonly swapped: boolean;
  u16(offset: number): number;
  u32(offset: number): number;
  u64(offset: number): bigint;
  /** Latin-1 text up to a NUL or `end`. */
  text(offset: number, end: number): string;
}

/** Reads outside the bytes give 0 and "": whoever needs them checks `length` first. */
export function bytesOf(bytes: Uint8Array, swapped: boolean): Bytes {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.byteLength;
  return {
    length,
    swapped,
    u16: (offset) => (offset >= 0 && offset + 2 <= length ? view.getUint16(offset, !swapped) : 0),
    u32: (offset) => (offset >= 0 && offset + 4 <= length ? view.getUint32(offset, !swapped) : 0),
    u64: (offset) => (offset >= 0 && offset + 8 <= length ? view.getBigUint64(offset, !swapped) : 0n),
    text(offset, end) {
      const window = bytes.subarray(Math.max(0, offset), Math.min(end, length));
      const size = window.indexOf(0);
      return Buffer.from(size < 0 ? window : window.subarray(0, size)).toString("utf8");
    },
  };
}
