/** The records of aggregated captures: sums for each stack, without addresses and without order. */
import type { Cursor } from "./cursor.ts";
import { parseCommon, type RareRecord } from "./rare-records.ts";

const MEMORY_SNAPSHOT = 1;
const AGGREGATED_ALLOCATION = 2;
const PYTHON_TRACE_INDEX = 3;
const PYTHON_FRAME_INDEX = 4;
const SURVIVING_OBJECT = 13;
const TRAILER = 15;

/** Sums of one allocator, thread and stack. */
export interface AllocationSite {
  readonly thread: number;
  /** As the file numbers it. */
  readonly allocatorId: number;
  readonly nativeFrame: number;
  /** Number of the Python stack in the order of its records; 0 for none. */
  readonly stack: number;
  readonly peakAllocations: number;
  readonly leakedAllocations: number;
  readonly peakBytes: number;
  readonly leakedBytes: number;
}

export type AggregatedRecord =
  | RareRecord
  | { readonly kind: "snapshot"; readonly epochMs: number; readonly rss: number; readonly heap: number }
  | { readonly kind: "site"; readonly site: AllocationSite }
  | { readonly kind: "stack"; readonly frame: number; readonly parent: number }
  | { readonly kind: "python_frame"; readonly id: number; readonly code: number; readonly instruction: number }
  | {
      readonly kind: "named_frame";
      readonly id: number;
      readonly name: string;
      readonly file: string;
      readonly line: number;
    };

function parseSite(cursor: Cursor): AllocationSite {
  const thread = cursor.u64();
  const allocatorId = cursor.u8();
  // Seven bytes of padding, which the writer did not clear.
  cursor.take(7);
  const nativeFrame = cursor.u64();
  const stack = cursor.u64();
  cursor.u64(); // which list of mapped objects the native frames belong to
  return {
    thread,
    allocatorId,
    nativeFrame,
    stack,
    peakAllocations: cursor.u64(),
    leakedAllocations: cursor.u64(),
    peakBytes: cursor.u64(),
    leakedBytes: cursor.u64(),
  };
}

/** Any record of an aggregated capture. */
export function parseAggregated(cursor: Cursor, version: number, nativeTraces: boolean): AggregatedRecord {
  const type = cursor.u8();
  switch (type) {
    case 0:
      return { kind: "padding" };
    case MEMORY_SNAPSHOT:
      return { kind: "snapshot", epochMs: cursor.u64(), rss: cursor.u64(), heap: cursor.u64() };
    case AGGREGATED_ALLOCATION:
      return { kind: "site", site: parseSite(cursor) };
    case PYTHON_TRACE_INDEX:
      return version >= 12
        ? { kind: "stack", frame: cursor.varint(), parent: cursor.varint() }
        : { kind: "stack", frame: cursor.u64(), parent: cursor.u32() };
    case PYTHON_FRAME_INDEX: {
      const id = version >= 12 ? cursor.varint() : cursor.u64();
      if (version >= 12) {
        const code = cursor.varint();
        const instruction = cursor.svarint();
        cursor.u8(); // entry frame
        return { kind: "python_frame", id, code, instruction };
      }
      const name = cursor.text();
      const file = cursor.text();
      const line = cursor.i32();
      cursor.u8(); // entry frame
      return { kind: "named_frame", id, name, file, line };
    }
    case SURVIVING_OBJECT:
      cursor.varint();
      return { kind: "object", pointerDelta: null, nativeDelta: nativeTraces ? cursor.varint() * 0 : 0 };
    case TRAILER:
      return { kind: "trailer" };
    default:
      break;
  }
  const common = parseCommon(cursor, type);
  if (common === null) cursor.damage();
  return common ?? { kind: "padding" };
}
