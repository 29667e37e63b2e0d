/** Strings between our form (codes and values) and Arrow's plain form (offsets and bytes). */

import { NULL_CODE, type StringColumn } from "../batch.ts";
import { packValidity } from "../bits.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A string column as Arrow lays it out. */
export interface PlainStrings {
  /** rows + 1 offsets into `bytes`. */
  readonly offsets: Int32Array;
  readonly bytes: Uint8Array;
  readonly bits: Uint8Array;
  readonly nulls: number;
}

/** The first `rows` strings, one after the other; a code without a value is null. */
export function plainStrings(column: StringColumn, rows: number): PlainStrings {
  const { codes, values } = column;
  const encoded = values.map((value) => encoder.encode(value));
  const lengths = Uint32Array.from(encoded, (value) => value.length);
  const valid = new Uint8Array(rows);
  const offsets = new Int32Array(rows + 1);
  let total = 0;
  for (let row = 0; row < rows; row++) {
    const code = codes[row] ?? NULL_CODE;
    if (code < lengths.length) {
      valid[row] = 1;
      total += lengths[code] ?? 0;
    }
    offsets[row + 1] = total;
  }
  const bytes = new Uint8Array(total);
  for (let row = 0; row < rows; ) {
    const code = codes[row] ?? NULL_CODE;
    const value = encoded[code];
    const from = offsets[row] ?? 0;
    row += 1;
    if (value === undefined || value.length === 0) continue;
    // Short values are most rows; a loop over their bytes is cheaper than a call per row.
    if (value.length > 24) bytes.set(value, from);
    else for (let i = 0; i < value.length; i++) bytes[from + i] = value[i] ?? 0;
  }
  const packed = packValidity(valid, rows);
  return { offsets, bytes, bits: packed.bits, nulls: packed.zeros };
}

/** Gives each distinct byte string a code in order of first appearance, over any number of calls. */
export interface StringCoder {
  /** Codes of rows `0 .. rows-1` into `codes` from `offset` on; rows whose `valid` byte is 0 become null. */
  code(
    offsets: Int32Array,
    bytes: Uint8Array,
    rows: number,
    valid: Uint8Array | null,
    codes: Uint32Array,
    offset: number,
  ): void;
  readonly values: readonly string[];
}

/** An empty coder: an open-addressing table keyed by the bytes, so that a repeated string is never decoded twice. */
export function stringCoder(): StringCoder {
  const values: string[] = [];
  const stored: Uint8Array[] = [];
  let slots = new Uint32Array(64);
  const hashes: number[] = [];

  function grow(): void {
    slots = new Uint32Array(slots.length * 2);
    for (const [code, hash] of hashes.entries()) {
      let slot = hash & (slots.length - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = code + 1;
    }
  }

  function lookup(bytes: Uint8Array, from: number, end: number): number {
    let hash = 0x811c9dc5; // FNV-1a
    for (let i = from; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
    let slot = hash & (slots.length - 1);
    for (;;) {
      const entry = slots[slot] ?? 0;
      if (entry === 0) break;
      if (equal(stored[entry - 1], bytes, from, end)) return entry - 1;
      slot = (slot + 1) & (slots.length - 1);
    }
    const copy = bytes.slice(from, end);
    slots[slot] = values.push(decoder.decode(copy));
    stored.push(copy);
    hashes.push(hash);
    if (values.length * 2 > slots.length) grow();
    return values.length - 1;
  }

  return {
    values,
    code(offsets, bytes, rows, valid, codes, start) {
      for (let row = 0; row < rows; row++) {
        const from = offsets[row] ?? 0;
        codes[start + row] =
          valid !== null && valid[row] === 0 ? NULL_CODE : lookup(bytes, from, offsets[row + 1] ?? from);
      }
    },
  };
}

function equal(stored: Uint8Array | undefined, bytes: Uint8Array, from: number, stop: number): boolean {
  if (stored === undefined || stored.length !== stop - from) return false;
  for (let i = 0; i < stored.length; i++) if (stored[i] !== bytes[from + i]) return false;
  return true;
}
