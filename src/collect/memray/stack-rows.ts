/** Rows of `allocation_stack`: a frame below its parent, so that a stack is the number of its innermost frame. */
import type { Batch } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { RowOf } from "../../schema/row.ts";
import type { FrameNames } from "./frame-names.ts";
import type { NativeObjects } from "./native-objects.ts";

const BATCH_ROWS = 4096;

export interface StackRows {
  /** A Python frame; `time_ns` is when it was first seen. */
  python(node: number, parent: number, frame: number, instruction: number, time_ns: number): void;
  /** A native frame. */
  native(id: number, parent: number, instruction: number, time_ns: number): void;
  /** Full batches; with `all`, also what does not fill one. */
  take(all: boolean): Batch<"allocation_stack">[];
}

/** Rows of one process. */
export function openStackRows(pid: number, names: FrameNames, objects: NativeObjects): StackRows {
  let rows: RowOf<"allocation_stack">[] = [];
  return {
    python(node, parent, frame, instruction, time_ns) {
      const named = names.describe(frame, instruction);
      rows.push({
        timestamp_ns: BigInt(Math.round(time_ns)),
        pid,
        kind: "python",
        stack_id: node,
        parent_id: parent === 0 ? null : parent,
        function: named?.function ?? null,
        file: named?.file ?? null,
        line: named?.line ?? null,
        ip: null,
        object_offset_bytes: null,
      });
    },
    native(id, parent, instruction, time_ns) {
      const object = objects.find(instruction);
      rows.push({
        timestamp_ns: BigInt(Math.round(time_ns)),
        pid,
        kind: "native",
        stack_id: id,
        parent_id: parent === 0 ? null : parent,
        function: null,
        file: object?.file ?? null,
        line: null,
        ip: BigInt(instruction),
        object_offset_bytes: object === null ? null : BigInt(instruction - object.base),
      });
    },
    take(all) {
      if (rows.length === 0 || (!all && rows.length < BATCH_ROWS)) return [];
      const batch = batchFromRows("allocation_stack", rows);
      rows = [];
      return [batch];
    },
  };
}
