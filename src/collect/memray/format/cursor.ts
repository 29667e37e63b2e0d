/** Reads the fields of one record in a window; a record that is not whole yet is read again when more has come. */
import { type ByteWindow, MAX_RECORD_BYTES } from "./byte-window.ts";

const TWO_32 = 2 ** 32;
const decoder = new TextDecoder();

export interface Cursor {
  u8(): number;
  u32(): number;
  i32(): number;
  /** Exact up to 2^53 - 1; a larger one damages the record. */
  u64(): number;
  /** LEB128, exact up to 2^53 - 1. */
  varint(): number;
  /** Zigzag of a varint. */
  svarint(): number;
  /** Bytes up to the next NUL, as text. */
  text(): string;
  /** A copy of the next `length` bytes. */
  take(length: number): Uint8Array;
  /** Marks the record as damaged. */
  damage(): void;
}

/** What came of a record: its fields, or why there are none. */
export type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly cut: boolean };

/** Reads records of any length at the position of a window. */
export interface RecordCursor {
  /**
   * Runs `parse` at the window's position until the whole record is there. `parse` must keep what it changes outside
   * to itself until it has read its last field, since it runs again when bytes were missing.
   */
  record<T>(parse: (cursor: Cursor) => T): Attempt<T>;
}

/** A cursor over `window`. */
export function openCursor(window: ByteWindow): RecordCursor {
  let short = false;
  let damaged = false;

  const room = (length: number): boolean => {
    if (window.end - window.pos >= length) return true;
    short = true;
    return false;
  };
  const u8 = (): number => (room(1) ? (window.bytes[window.pos++] ?? 0) : 0);
  const u32 = (): number => {
    if (!room(4)) return 0;
    const { bytes, pos } = window;
    window.pos += 4;
    return (
      ((bytes[pos] ?? 0) |
        ((bytes[pos + 1] ?? 0) << 8) |
        ((bytes[pos + 2] ?? 0) << 16) |
        ((bytes[pos + 3] ?? 0) << 24)) >>>
      0
    );
  };
  const exact = (value: number): number => {
    if (value <= Number.MAX_SAFE_INTEGER) return value;
    damaged = true;
    return 0;
  };
  const varint = (): number => {
    let value = 0;
    let factor = 1;
    for (let i = 0; i < 10; i++) {
      const next = u8();
      value += (next & 127) * factor;
      if (next < 128) return exact(value);
      factor *= 128;
    }
    damaged = true;
    return 0;
  };
  const cursor: Cursor = {
    u8,
    u32,
    i32: () => u32() | 0,
    u64: () => {
      const low = u32();
      return exact(u32() * TWO_32 + low);
    },
    varint,
    svarint: () => {
      const value = varint();
      return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    },
    text: () => {
      const terminator = window.bytes.indexOf(0, window.pos);
      if (terminator < 0 || terminator >= window.end) {
        short = true;
        return "";
      }
      const text = decoder.decode(window.bytes.subarray(window.pos, terminator));
      window.pos = terminator + 1;
      return text;
    },
    take: (length) => {
      if (length > MAX_RECORD_BYTES) damaged = true;
      if (damaged || !room(length)) return new Uint8Array(0);
      window.pos += length;
      return window.bytes.slice(window.pos - length, window.pos);
    },
    damage: () => {
      damaged = true;
    },
  };

  return {
    record(parse) {
      for (;;) {
        const begin = window.pos;
        short = false;
        damaged = false;
        const value = parse(cursor);
        if (!short && !damaged) return { ok: true, value };
        window.pos = begin;
        if (damaged && !short) return { ok: false, cut: false };
        if (window.last) return { ok: false, cut: true };
        const there = window.end - begin;
        if (there >= MAX_RECORD_BYTES) return { ok: false, cut: false };
        window.fill(Math.min(MAX_RECORD_BYTES, 2 * there + 64));
      }
    },
  };
}
