/** Bytes that are read in chunks and used in records. */

/** Keeps the bytes of an unfinished record in front of what comes next, at a multiple of 8. */
export function createCarry(capacity: number) {
  let buffer = new Uint8Array(capacity);
  let filled = 0;
  return {
    /** Room for `size` more bytes behind those that are kept. */
    room(size: number): Uint8Array {
      if (filled + size > buffer.length) {
        const larger = new Uint8Array(Math.max(2 * buffer.length, filled + size));
        larger.set(buffer.subarray(0, filled));
        buffer = larger;
      }
      return buffer.subarray(filled, filled + size);
    },
    add(bytes: number): void {
      filled += bytes;
    },
    get bytes() {
      return buffer.subarray(0, filled);
    },
    /** Drops the first `used` bytes. */
    drop(used: number): void {
      buffer.copyWithin(0, used, filled);
      filled -= used;
    },
  };
}
