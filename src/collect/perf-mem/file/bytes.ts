/** Bounds-checked reads in the byte order of the file. */

export interface Bytes {
  readonly length: number;
  /** True where the file was written in the other byte order, big-endian. */
  readonly swapped: boolean;
  u16(at: number): number;
  u32(at: number): number;
  u64(at: number): bigint;
  /** Latin-1 text up to a NUL or `end`. */
  text(at: number, end: number): string;
}

/** Reads outside the bytes give 0 and "": whoever needs them checks `length` first. */
export function bytesOf(bytes: Uint8Array, swapped: boolean): Bytes {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.byteLength;
  return {
    length,
    swapped,
    u16: (at) => (at >= 0 && at + 2 <= length ? view.getUint16(at, !swapped) : 0),
    u32: (at) => (at >= 0 && at + 4 <= length ? view.getUint32(at, !swapped) : 0),
    u64: (at) => (at >= 0 && at + 8 <= length ? view.getBigUint64(at, !swapped) : 0n),
    text(at, end) {
      const window = bytes.subarray(Math.max(0, at), Math.min(end, length));
      const size = window.indexOf(0);
      return Buffer.from(size < 0 ? window : window.subarray(0, size)).toString("utf8");
    },
  };
}
