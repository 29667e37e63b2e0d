/** Bounds-checked little-endian reads over the bytes of a file that nobody vouches for. */

import type { ByteSource } from "./file-bytes.ts";

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
  /** `size` bytes from `offset` on, valid until the next read; null where they are not all there. */
  bytes(offset: number, size: number): Uint8Array | null;
  /** True where `name` followed by a NUL lies at `offset`. */
  textEquals(offset: number, name: Uint8Array): boolean;
}

const TEXT_LIMIT_BYTES = 4096;

/** Reads over bytes that are there as a whole, or over a file that is read as it is asked for. */
export function byteView(source: ByteSource): ByteView {
  const { length } = source;
  const holds = (offset: number, size: number) =>
    Number.isSafeInteger(offset) && offset >= 0 && size >= 0 && offset + size <= length;
  const viewAt = (offset: number, size: number): DataView | null => {
    if (!holds(offset, size)) return null;
    const bytes = source.slice(offset, size);
    // A file may have been cut short since it was opened.
    return bytes.length < size ? null : new DataView(bytes.buffer, bytes.byteOffset, size);
  };
  return {
    length,
    u8: (offset) => viewAt(offset, 1)?.getUint8(0) ?? null,
    u16: (offset) => viewAt(offset, 2)?.getUint16(0, true) ?? null,
    u32: (offset) => viewAt(offset, 4)?.getUint32(0, true) ?? null,
    i32: (offset) => viewAt(offset, 4)?.getInt32(0, true) ?? null,
    u64(offset) {
      const word = viewAt(offset, 8);
      return word === null ? null : word.getUint32(4, true) * 2 ** 32 + word.getUint32(0, true);
    },
    text(offset, limit = TEXT_LIMIT_BYTES) {
      if (!holds(offset, 1)) return null;
      const window = source.slice(offset, limit + 1);
      const size = window.indexOf(0);
      return size < 0 ? null : Buffer.from(window.buffer, window.byteOffset, size).toString("latin1");
    },
    bytes(offset, size) {
      const view = viewAt(offset, size);
      return view === null ? null : new Uint8Array(view.buffer, view.byteOffset, size);
    },
    textEquals(offset, name) {
      if (!holds(offset, name.length + 1)) return false;
      const found = source.slice(offset, name.length + 1);
      if (found.length <= name.length || found[name.length] !== 0) return false;
      for (let i = 0; i < name.length; i++) if (found[i] !== name[i]) return false;
      return true;
    },
  };
}

/** Bytes in memory as a source. */
export function bytesInMemory(bytes: Uint8Array): ByteSource {
  return { length: bytes.length, slice: (offset, size) => bytes.subarray(offset, offset + size) };
}
