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
  /** Frames that were not taken. */
  readonly waiting: number;
  /** Full batches; with `all`, also what does not fill one. */
  take(all: boolean): Generator<Batch<"allocation_stack">, void, void>;
}

/** Numbers of a frame that waits: id, parent, instruction, time, and of a Python frame its code, of a native one its offset. */
const WORDS = 5;

/**
 * Rows of one process. Many frames may come at once, and a row is some hundred bytes: until they are taken they are
 * numbers.
 */
export function openStackRows(pid: number, names: FrameNames, objects: NativeObjects): StackRows {
  const waiting: number[] = [];
  /** The object of each native frame, as it was mapped then; null where there is none, undefined for a Python frame. */
  const files: (string | null | undefined)[] = [];

  function rowAt(index: number): RowOf<"allocation_stack"> {
    const word = WORDS * index;
    const [id = 0, parent = 0, instruction = 0, time_ns = 0, more = 0] = waiting.slice(word, word + WORDS);
    const file = files[index];
    const isNative = file !== undefined;
    const named = isNative ? null : names.describe(more, instruction);
    return {
      timestamp_ns: BigInt(Math.round(time_ns)),
      pid,
      kind: isNative ? "native" : "python",
      stack_id: id,
      parent_id: parent === 0 ? null : parent,
      function: named?.function ?? null,
      file: file ?? named?.file ?? null,
      line: named?.line ?? null,
      ip: isNative ? BigInt(instruction) : null,
      object_offset_bytes: typeof file === "string" ? BigInt(more) : null,
    };
  }

  return {
    get waiting() {
      return files.length;
    },
    python(node, parent, frame, instruction, time_ns) {
      waiting.push(node, parent, instruction, time_ns, frame);
      files.push(undefined);
    },
    native(id, parent, instruction, time_ns) {
      const object = objects.find(instruction);
      waiting.push(id, parent, instruction, time_ns, object === null ? 0 : instruction - object.base);
      files.push(object?.file ?? null);
    },
    *take(all) {
      let taken = 0;
      while (files.length - taken >= (all ? 1 : BATCH_ROWS)) {
        const end = Math.min(files.length, taken + BATCH_ROWS);
        const rows: RowOf<"allocation_stack">[] = [];
        for (; taken < end; taken++) rows.push(rowAt(taken));
        yield batchFromRows("allocation_stack", rows);
      }
      files.splice(0, taken);
      waiting.splice(0, WORDS * taken);
    },
  };
}
