/** A sliding window over a stream of bytes, in which a decoder moves; it grows only for a single long record. */
import type { ByteSource } from "./byte-source.ts";

/** No name and no line table of a real capture is near this. */
export const MAX_RECORD_BYTES = 1 << 24;
/** Zeros behind the last byte, so that a short record may be read without asking whether it is whole. */
export const SLACK_BYTES = 64;

export interface ByteWindow {
  readonly bytes: Uint8Array;
  /** Next byte to decode. */
  pos: number;
  /** First index behind the bytes that came. */
  readonly end: number;
  /** True when no byte follows `end`; the zeros of the slack do. */
  readonly last: boolean;
  /** Bytes of the stream that lie before `bytes[0]`. */
  readonly before: number;
  /** Drops what is before `pos`, and reads on until at least `length` bytes follow it; false where they never will. */
  fill(length: number): boolean;
}

/** A window at the start of `source`, before which `before` bytes of the same stream were read already. */
export function openByteWindow(source: ByteSource, windowBytes: number, before = 0): ByteWindow {
  let bytes = new Uint8Array(windowBytes + SLACK_BYTES);
  let end = 0;
  let last = false;
  return {
    pos: 0,
    get bytes() {
      return bytes;
    },
    get end() {
      return end;
    },
    get last() {
      return last;
    },
    get before() {
      return before;
    },
    fill(length) {
      if (length > MAX_RECORD_BYTES) return false;
      const left = bytes.subarray(this.pos, end);
      const target = length + SLACK_BYTES > bytes.length ? new Uint8Array(2 * length + SLACK_BYTES) : bytes;
      // Within one buffer this moves the bytes to its front.
      target.set(left);
      bytes = target;
      before += this.pos;
      this.pos = 0;
      end = left.length;
      const room = bytes.subarray(0, bytes.length - SLACK_BYTES);
      do {
        const got = end < room.length ? source.read(room, end) : 0;
        if (got === 0) last = end < room.length;
        end += got;
      } while (!last && end < length);
      if (last) bytes.fill(0, end, end + SLACK_BYTES);
      return end >= length;
    },
  };
}
