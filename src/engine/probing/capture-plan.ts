/** What a probe copies: parts one behind the other, from what its arguments point to; data for the kernel program. */
import { recordLayout } from "../../schema/records.ts";
import { ENGINE, ENGINE_FORM, ENGINE_ROOM, ENGINE_SOURCE } from "../../schema/shared-numbers.ts";

/** An argument in a register; at a return the first is the value. */
export type Argument = 0 | 1 | 2 | 3;

/** Where a batch that is passed by value has its number of tokens (i32) and its arrays. */
export interface BatchOffsets {
  readonly tokens: number;
  /** Array of i32. */
  readonly positions: number;
  /** Array of i32: the length of each list of sequences. */
  readonly sequenceCounts: number;
  /** Array of lists of i32. */
  readonly sequences: number;
}

export type CapturePart =
  /** So many bytes of the structure that an argument points to, or that is passed by value. */
  | {
      readonly form: "bytes";
      readonly from: Argument | "structure";
      readonly bytes: number;
      /** Pointers that lead on: at so many bytes behind what `from` points to, and so on; two at most. */
      readonly follow?: readonly number[];
    }
  /** Text up to its NUL, or so many bytes of it. */
  | { readonly form: "string"; readonly from: Argument; readonly bytes: number }
  /** As many elements as another argument says, or as `bytes` have room for. */
  | {
      readonly form: "array";
      readonly from: Argument;
      readonly bytes: number;
      readonly countArgument: Argument;
      readonly elementBytes: number;
    }
  /** What the arrays of a batch hold that is passed by value, as engine_batch and its runs; a plan has it alone. */
  | { readonly form: "batch"; readonly offsets: BatchOffsets };

/** Parts with their places. */
export interface CapturePlan {
  readonly parts: readonly CapturePart[];
  /** First byte of each part in the payload. */
  readonly at: readonly number[];
  /** Bytes of all parts. */
  readonly bytes: number;
  /** Bytes that the record has for them. */
  readonly room: number;
}

const PLAN = recordLayout("engine_capture");
const BATCH_BYTES = recordLayout("engine_batch").bytes + ENGINE.batch_runs * recordLayout("engine_batch_run").bytes;
const ROOMS = Object.values(ENGINE_ROOM);

/** Bytes that a part takes at most. */
export function partBytes(part: CapturePart): number {
  return part.form === "batch" ? BATCH_BYTES : part.bytes;
}

/** True where the kernel program can place the parts in `room`: the first anywhere, others from its first quarter on. */
function fits(sizes: readonly number[], starts: readonly number[], room: number): boolean {
  return sizes.every((bytes, i) =>
    i === 0 ? bytes <= room : (starts[i] ?? 0) <= room / 4 && bytes <= room - room / 4,
  );
}

/** @throws RangeError where no record has room for the parts, or there are too many: put the small ones first */
export function capturePlan(...parts: readonly CapturePart[]): CapturePlan {
  const sizes = parts.map(partBytes);
  const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, bytes) => sum + bytes, 0));
  if (parts.length === 1 && parts[0]?.form === "batch")
    return { parts, at: [0], bytes: BATCH_BYTES, room: BATCH_BYTES };
  const room = parts.length === 0 ? 0 : ROOMS.find((bytes) => fits(sizes, starts, bytes));
  if (room === undefined || parts.length > ENGINE.parts) {
    throw new RangeError(`no record has room for parts of ${sizes.join(", ")} bytes`);
  }
  return { parts, at: starts, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0), room };
}

/** The plan as the kernel program reads it. */
export function planBytes({ parts, at: starts, room }: CapturePlan): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(new ArrayBuffer(PLAN.bytes));
  const view = new DataView(bytes.buffer);
  const { offsets } = PLAN;
  view.setUint16(offsets.room, room, true);
  view.setUint8(offsets.parts, parts.length);
  for (const [i, part] of parts.entries()) {
    view.setUint16(offsets.at + 2 * i, starts[i] ?? 0, true);
    view.setUint16(offsets.bytes + 2 * i, partBytes(part), true);
    if (part.form === "batch") {
      view.setUint8(offsets.walks, 1);
      view.setUint16(offsets.batch_tokens, part.offsets.tokens, true);
      view.setUint16(offsets.batch_positions, part.offsets.positions, true);
      view.setUint16(offsets.batch_sequence_counts, part.offsets.sequenceCounts, true);
      view.setUint16(offsets.batch_sequences, part.offsets.sequences, true);
      continue;
    }
    view.setUint8(offsets.form + i, ENGINE_FORM[part.form]);
    view.setUint8(offsets.source + i, part.from === "structure" ? ENGINE_SOURCE.structure : part.from);
    if (part.form === "bytes") {
      const { follow = [] } = part;
      view.setUint8(offsets.follows + i, follow.length);
      for (const [k, offset] of follow.entries()) {
        view.setUint16(offsets.follow + 2 * (i * ENGINE.follows + k), offset, true);
      }
    }
    if (part.form !== "array") continue;
    view.setUint8(offsets.count_argument + i, part.countArgument);
    view.setUint16(offsets.element_bytes + 2 * i, part.elementBytes, true);
  }
  return bytes;
}
