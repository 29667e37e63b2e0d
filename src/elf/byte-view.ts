/** Bounds-checked little-endian reads over the bytes of a file that nobody vouches for. */

/** Reads that answer null outside the bytes, and never throw. */
export interface ByteView {
  readonly length: number;
  u8(offset: number): number | null;
  u16(offset: number): number | null;
  u32(offset: number): number | null;
  i32(offset: number): number | null;
  /** A u64 as a number: exact up to 2^53, rounded above, which no user address or file size reaches. */
  u64(offset: number): number | null;
  /** The bytes up to the next NUL as Latin-1 text; null where there is no NUL within `limit` bytes. */
  text(offset: number, limit?: number): string | null;
  /** True where `name` followed by a NUL lies at `offset`. */
  textEquals(offset: number, name: Uint8Array): boolean;
}

const TEXT_LIMIT_BYTES = 4096;

export function byteView(bytes: Uint8Array): ByteView {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.byteLength;
  const holds = (offset: number, size: number) =>
    Number.isSafeInteger(offset) && offset >= 0 && offset + size <= length;
  return {
    length,
    u8: (offset) => (holds(offset, 1) ? view.getUint8(offset) : null),
    u16: (offset) => (holds(offset, 2) ? view.getUint16(offset, true) : null),
    u32: (offset) => (holds(offset, 4) ? view.getUint32(offset, true) : null),
    i32: (offset) => (holds(offset, 4) ? view.getInt32(offset, true) : null),
    u64: (offset) =>
      holds(offset, 8) ? view.getUint32(offset + 4, true) * 2 ** 32 + view.getUint32(offset, true) : null,
    text(offset, limit = TEXT_LIMIT_BYTES) {
      if (!holds(offset, 1)) return null;
      const window = bytes.subarray(offset, offset + limit + 1);
      const size = window.indexOf(0);
      return size < 0 ? null : String.fromCharCode(...window.subarray(0, size));
    },
    textEquals(offset, name) {
      if (!holds(offset, name.length + 1) || bytes[offset + name.length] !== 0) return false;
      for (let i = 0; i < name.length; i++) if (bytes[offset + i] !== name[i]) return false;
      return true;
    },
  };
}
