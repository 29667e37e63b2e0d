/** The records that are few: threads, memory, names, native frames and mapped objects; those of all three versions. */

import type { NativeSegment } from "../native-objects.ts";
import type { Cursor } from "./cursor.ts";

const NATIVE_TRACE_INDEX = 5;
const MEMORY_MAP_START = 6;
const SEGMENT_HEADER = 7;
const SEGMENT = 8;
const THREAD_RECORD = 10;
const CONTEXT_SWITCH = 12;
const CODE_OBJECT = 14;
const MAX_SEGMENTS = 1 << 16;

/** A record with its fields; deltas are not yet added to what they are against. */
export type RareRecord =
  | { readonly kind: "trailer" | "padding" | "objects" }
  | { readonly kind: "memory"; readonly rss: number; readonly ms: number }
  | { readonly kind: "native"; readonly instructionDelta: number; readonly parentDelta: number }
  | { readonly kind: "segments"; readonly segments: readonly NativeSegment[] }
  | { readonly kind: "thread"; readonly thread: number }
  | { readonly kind: "thread_name"; readonly name: string }
  | {
      readonly kind: "code";
      readonly id: number;
      readonly name: string;
      readonly file: string;
      readonly lineDelta: number;
      readonly lineTable: Uint8Array;
    }
  | {
      readonly kind: "frame";
      readonly idDelta: number;
      readonly name: string;
      readonly file: string;
      readonly lineDelta: number;
    }
  | {
      readonly kind: "object";
      /** Null where one of the recent addresses is meant. */
      readonly pointerDelta: number | null;
      readonly nativeDelta: number;
    };

/** A record that is written the same way in files of all versions and formats, given its type; null for another. */
export function parseCommon(cursor: Cursor, type: number): RareRecord | null {
  switch (type) {
    case NATIVE_TRACE_INDEX:
      return { kind: "native", instructionDelta: cursor.svarint(), parentDelta: cursor.svarint() };
    case MEMORY_MAP_START:
      return { kind: "objects" };
    case SEGMENT_HEADER:
      return { kind: "segments", segments: parseSegments(cursor) };
    case THREAD_RECORD:
      return { kind: "thread_name", name: cursor.text() };
    case CONTEXT_SWITCH:
      return { kind: "thread", thread: cursor.u64() };
    case CODE_OBJECT:
      return {
        kind: "code",
        id: cursor.varint(),
        name: cursor.text(),
        file: cursor.text(),
        lineDelta: cursor.svarint(),
        lineTable: cursor.take(cursor.varint()),
      };
    default:
      return null;
  }
}

function parseSegments(cursor: Cursor): NativeSegment[] {
  const file = cursor.text();
  const count = cursor.varint();
  const base = cursor.u64();
  if (count > MAX_SEGMENTS) {
    cursor.damage();
    return [];
  }
  const segments: NativeSegment[] = [];
  for (let i = 0; i < count; i++) {
    // Missing bytes read as 0, which ends the list: it is read again when they are there.
    if (cursor.u8() !== SEGMENT) {
      cursor.damage();
      break;
    }
    const begin = base + cursor.u64();
    segments.push({ begin, end: begin + cursor.varint(), file, base });
  }
  return segments;
}

/** A rare record of versions 12 and 13. */
export function parsePrefixRare(cursor: Cursor, nativeTraces: boolean): RareRecord {
  const type = cursor.u8();
  if (type === 0) return { kind: "padding" };
  if (type === 1) return { kind: "trailer" };
  if (type === 2) {
    const rss = cursor.varint();
    return { kind: "memory", rss, ms: cursor.varint() };
  }
  if ((type & 0xe0) === 0x20) {
    const isCached = ((type >> 1) & 15) !== 15;
    const pointerDelta = isCached ? null : cursor.svarint();
    return { kind: "object", pointerDelta, nativeDelta: nativeTraces && type & 1 ? cursor.svarint() : 0 };
  }
  return parseCommon(cursor, type) ?? damaged(cursor);
}

/** A rare record of version 11. */
export function parseNibbleRare(cursor: Cursor): RareRecord {
  const first = cursor.u8();
  const type = first & 15;
  if (first === 0) return { kind: "padding" };
  if (first === 0x10) return { kind: "trailer" };
  if (type === 11) {
    const rss = cursor.varint();
    return { kind: "memory", rss, ms: cursor.varint() };
  }
  if (type === 3) {
    return {
      kind: "frame",
      idDelta: cursor.svarint(),
      name: cursor.text(),
      file: cursor.text(),
      lineDelta: cursor.svarint(),
    };
  }
  return (type === CODE_OBJECT ? null : parseCommon(cursor, type)) ?? damaged(cursor);
}

function damaged(cursor: Cursor): RareRecord {
  cursor.damage();
  return { kind: "padding" };
}
