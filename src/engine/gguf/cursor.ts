/** A position in hostile bytes: every read is checked, the first failure sticks, and after it every read gives zero. */
import type { ByteSource } from "../tensor-file.ts";

export interface Cursor {
  /** Bytes consumed so far, from the start of the source. */
  offset(): number;
  /** Bytes between here and the end. */
  left(): number;
  /** The first failure, null while all is well. */
  failure(): { reason: string; offset: number } | null;
  fail(reason: string): void;
  u32(): number;
  /** A u64 that must be exact in a double. */
  count(): number;
  /** Reads `bytes` (1, 2, 4 or 8) and hands them to `get`, little-endian at position 0 of the view. */
  scalar<T>(bytes: number, get: (view: DataView) => T): T;
  /** A length-prefixed UTF-8 string of at most `maxBytes`; malformed sequences become U+FFFD. */
  string(maxBytes: number): string;
  skip(bytes: number): void;
}

const WINDOW_BYTES = 256 * 1024;

/** A cursor at the start of `source`; holds at most one window (256 KiB, or one string) in memory. */
export function openCursor(source: ByteSource): Cursor {
  const decoder = new TextDecoder();
  const small = new DataView(new ArrayBuffer(8));
  const smallBytes = new Uint8Array(small.buffer);
  let window = new Uint8Array(0);
  let windowStart = 0;
  let position = 0;
  let failed: { reason: string; offset: number } | null = null;

  function fail(reason: string): void {
    failed ??= { reason, offset: position };
  }

  /** The next `bytes` bytes, or null after a failure. */
  function take(bytes: number): Uint8Array | null {
    if (failed) return null;
    if (bytes > source.size - position) {
      fail(`${bytes} bytes wanted, ${source.size - position} left`);
      return null;
    }
    if (position < windowStart || position + bytes > windowStart + window.length) {
      windowStart = position;
      window = new Uint8Array(source.read(position, Math.min(source.size - position, Math.max(bytes, WINDOW_BYTES))));
      if (window.length < bytes) {
        fail(`${bytes} bytes wanted, the source gave ${window.length}`);
        return null;
      }
    }
    const inWindow = position - windowStart;
    position += bytes;
    return window.subarray(inWindow, inWindow + bytes);
  }

  function scalar<T>(bytes: number, get: (view: DataView) => T): T {
    const found = take(bytes);
    if (found) smallBytes.set(found);
    else smallBytes.fill(0);
    return get(small);
  }

  function count(): number {
    const value = scalar(8, (view) => view.getUint32(4, true) * 2 ** 32 + view.getUint32(0, true));
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    fail(`a count of about ${value} is not possible`);
    return 0;
  }

  return {
    offset: () => position,
    left: () => source.size - position,
    failure: () => failed,
    fail,
    scalar,
    count,
    u32: () => scalar(4, (view) => view.getUint32(0, true)),
    string(maxBytes) {
      const length = count();
      if (length > maxBytes) {
        fail(`a string of ${length} bytes, ${maxBytes} allowed`);
        return "";
      }
      const bytes = take(length);
      return bytes ? decoder.decode(bytes) : "";
    },
    skip(bytes) {
      if (failed) return;
      if (bytes > source.size - position) fail(`${bytes} bytes wanted, ${source.size - position} left`);
      else position += bytes;
    },
  };
}
