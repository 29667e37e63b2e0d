/** What a probe copies: parts one behind the other, from what its arguments point to; data for the kernel program. */
import { recordLayout } from "../../schema/records.ts";
import {
  ENGINE,
  ENGINE_FORM,
  ENGINE_ROOM,
  ENGINE_SOURCE,
  ENGINE_START,
  ENGINE_WALK,
} from "../../schema/shared-numbers.ts";

/** An argument in a register; at a return the first is the value. */
export type Argument = 0 | 1 | 2 | 3 | 4 | 5;

/** Where a batch that is passed by value has its number of tokens (i32) and its arrays. */
export interface BatchOffsets {
  readonly tokens: number;
  /** Array of i32. */
  readonly positions: number;
  /** Array of i32: the length of each list of sequences. Null for a batch whose tokens have one sequence each. */
  readonly sequenceCounts: number | null;
  /** Array of lists of i32; of i64 without lists. */
  readonly sequences: number;
  /** Array of i8: which tokens ask for logits. Null for a batch that has none, as one whose tokens have one sequence each. */
  readonly logits: number | null;
}

/** How the first node of an operation is found in a graph, and what its operand holds: whole numbers of 4 or 8 bytes. */
export interface IndexOffsets {
  /** In the graph that the first part is copied from: the number of its nodes (i32), and the list of them. */
  readonly count: number;
  readonly nodes: number;
  /** Number of the operation, and where a node has its own (i32), and the pointer to the operand. */
  readonly operation: number;
  readonly nodeOperation: number;
  readonly operand: number;
  /** In a node the tensor whose data it writes, in that its buffer, in that its usage (i32): nodes that write to one of `passing` are passed over. */
  readonly owner: number;
  readonly buffer: number;
  readonly usage: number;
  readonly passing: number;
  /** Of a tensor: its type (i32), its number of elements (i64), the address of its data. */
  readonly type: number;
  readonly elements: number;
  readonly data: number;
  /** Types of numbers of 4 and of 8 bytes. */
  readonly narrowType: number;
  readonly wideType: number;
}

/** How the blocks of a step's requests are found at a call that gets tensors of torch by reference. */
export interface BlockOffsets {
  /** Numbers of the arguments: what is asked, the cache, where each request begins in it and how long it is (arrays of i32). */
  readonly query: Argument;
  readonly cache: Argument;
  readonly starts: Argument;
  readonly lengths: Argument;
  /** Where on the stack, behind the return address, the window over which tokens look back lies (i64, -1 for none). */
  readonly window: number;
  /** Where on the stack the reference to the table of blocks lies (i32, a row for each request). */
  readonly table: number;
  /** In a tensor the pointer to its storage, its sizes and strides, and its first element; in a storage the pointer to its data. */
  readonly storage: number;
  readonly sizes: number;
  readonly strides: number;
  readonly offset: number;
  readonly data: number;
}

/** How a tensor of torch that is referred to leads to its numbers. */
export interface NumberOffsets {
  /** In the tensor the pointer to its storage, its strides, its first element, how many they are, their type (u16); in a storage the pointer to its data. */
  readonly storage: number;
  readonly strides: number;
  readonly offset: number;
  readonly elements: number;
  readonly type: number;
  readonly data: number;
  /** Types of numbers of 4 and of 8 bytes. */
  readonly narrowType: number;
  readonly wideType: number;
}

/** How an operation of ggml leads to rows of numbers of 4 bytes, its second operand. */
export interface RowOffsets {
  /** In the operation the pointer to the operand, and the name. */
  readonly operand: number;
  readonly name: number;
  /** Of the operand: its type (i32), how many numbers a row has and how many rows there are, their strides, the address of its data. */
  readonly type: number;
  readonly sizes: number;
  readonly strides: number;
  readonly data: number;
  readonly narrowType: number;
}

export type CapturePart =
  /** So many bytes of the structure that an argument points to, or that is passed by value. */
  | {
      readonly form: "bytes";
      readonly from: Argument | "structure";
      readonly bytes: number;
      /** Pointers that lead on: at so many bytes behind what `from` points to, and so on; two at most. */
      readonly follow?: readonly number[];
      /** Bytes of the structure that are left out in front; none unless told. */
      readonly skip?: number;
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
  | { readonly form: "batch"; readonly offsets: BatchOffsets }
  /** The numbers in an operand, as engine_indexes and its runs; the last part of a plan that begins with a graph. */
  | { readonly form: "indexes"; readonly offsets: IndexOffsets }
  /** The blocks of each request, as engine_blocks and what follows it; the last part of a plan, and left out where the cache is not the first of its storage. */
  | { readonly form: "blocks"; readonly offsets: BlockOffsets }
  /** The numbers of a tensor of one dimension, as engine_indexes and a few runs; the last part of a plan. */
  | { readonly form: "numbers"; readonly from: Argument; readonly offsets: NumberOffsets }
  /** Rows of numbers, as engine_rows and what follows it, where the first argument says that the thread is the first; a plan has it alone. */
  | { readonly form: "rows"; readonly from: Argument; readonly offsets: RowOffsets };

/** Parts with their places. */
export interface CapturePlan {
  readonly parts: readonly CapturePart[];
  /** First byte of each part in the payload. */
  readonly at: readonly number[];
  /** Bytes of all parts, and of those that every record has. */
  readonly bytes: number;
  readonly least: number;
  /** Bytes that the record has for them. */
  readonly room: number;
  /** True for a function of Go, whose arguments are in registers of its own: the first is the receiver of a method. */
  readonly isGo?: true;
  /** Calls in which this argument has another value are passed over in the kernel; the value is 1 to 255. */
  readonly only?: { readonly argument: Argument; readonly value: number };
}

const PLAN = recordLayout("engine_capture");
const batchBytes = (runs: number): number =>
  recordLayout("engine_batch").bytes + runs * recordLayout("engine_batch_run").bytes;
const indexBytes = (runs: number): number =>
  recordLayout("engine_indexes").bytes + runs * recordLayout("engine_index_run").bytes;
const BATCH_BYTES = batchBytes(ENGINE.many_runs);
const INDEX_BYTES = indexBytes(ENGINE.many_runs);
const NUMBER_BYTES = indexBytes(ENGINE.least_runs);
const BLOCK_BYTES =
  recordLayout("engine_blocks").bytes +
  ENGINE.block_requests * recordLayout("engine_block_request").bytes +
  ENGINE.block_runs * recordLayout("engine_index_run").bytes;
const rowBytes = (bytes: number): number => recordLayout("engine_rows").bytes + bytes;
const ROW_BYTES = rowBytes(ENGINE.rows_long_bytes);
const ROOMS = ["small", "compact", "medium", "large"] as const satisfies readonly (keyof typeof ENGINE_ROOM)[];
type Room = (typeof ROOMS)[number];

/** Bytes that a part takes at most. */
export function partBytes(part: CapturePart): number {
  if (part.form === "batch") return BATCH_BYTES;
  if (part.form === "blocks") return BLOCK_BYTES;
  if (part.form === "numbers") return NUMBER_BYTES;
  if (part.form === "rows") return ROW_BYTES;
  return part.form === "indexes" ? INDEX_BYTES : part.bytes;
}

/** Bytes that such a part takes at least behind the others. */
function leastBytes(part: CapturePart): number {
  if (part.form === "blocks") return 0;
  return part.form === "indexes" ? indexBytes(ENGINE.least_runs) : partBytes(part);
}

/** True for a part that the kernel program puts behind the room of the others. */
const isBehind = ({ form }: CapturePart): boolean => form === "indexes" || form === "blocks" || form === "numbers";

/** True where the kernel program can place the parts in a room: the first may fill it, others begin early in it. */
function fits(sizes: readonly number[], starts: readonly number[], room: Room): boolean {
  const [bytes, latest] = [ENGINE_ROOM[room], ENGINE_START[room]];
  return sizes.every((size, i) => (i === 0 ? size <= bytes : (starts[i] ?? 0) <= latest && size <= bytes - latest));
}

/** @throws RangeError where no record has room for the parts, or there are too many: put the small ones first */
export function capturePlan(...parts: readonly CapturePart[]): CapturePlan {
  const sizes = parts.map(partBytes);
  const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, bytes) => sum + bytes, 0));
  if (parts.length === 1 && parts[0]?.form === "batch")
    return { parts, at: [0], bytes: BATCH_BYTES, least: batchBytes(ENGINE.least_runs), room: BATCH_BYTES };
  if (parts.length === 1 && parts[0]?.form === "rows")
    return { parts, at: [0], bytes: ROW_BYTES, least: rowBytes(ENGINE.rows_short_bytes), room: ROW_BYTES };
  const last = parts.at(-1);
  if (last !== undefined && isBehind(last) && fits(sizes.slice(0, -1), starts, "compact")) {
    const bytes = ENGINE_ROOM.compact + partBytes(last);
    const least = ENGINE_ROOM.compact + leastBytes(last);
    return { parts, at: [...starts.slice(0, -1), ENGINE_ROOM.compact], bytes, least, room: bytes };
  }
  if (parts.length === 0) return { parts, at: [], bytes: 0, least: 0, room: 0 };
  const room = ROOMS.find((name) => fits(sizes, starts, name));
  if (room === undefined || parts.length > ENGINE.parts) {
    throw new RangeError(`no record has room for parts of ${sizes.join(", ")} bytes`);
  }
  const bytes = sizes.reduce((sum, one) => sum + one, 0);
  return { parts, at: starts, bytes, least: bytes, room: ENGINE_ROOM[room] };
}

/** How many whole numbers a tensor has, and of which type they are. */
function setNumbers(view: DataView, from: Pick<NumberOffsets, "elements" | "type" | "narrowType" | "wideType">): void {
  const { offsets } = PLAN;
  view.setUint16(offsets.tensor_elements, from.elements, true);
  view.setUint16(offsets.tensor_type, from.type, true);
  view.setUint16(offsets.narrow_type, from.narrowType, true);
  view.setUint16(offsets.wide_type, from.wideType, true);
}

/** How the data of a tensor of torch is found. */
function setTorchData(view: DataView, from: Pick<NumberOffsets, "storage" | "strides" | "offset" | "data">): void {
  const { offsets } = PLAN;
  view.setUint16(offsets.torch_storage, from.storage, true);
  view.setUint16(offsets.torch_strides, from.strides, true);
  view.setUint16(offsets.torch_offset, from.offset, true);
  view.setUint16(offsets.torch_data, from.data, true);
}

/** The plan as the kernel program reads it. @param firstOnly true where it tells of the first cache of a storage alone */
export function planBytes(
  { parts, at: starts, room, isGo, only }: CapturePlan,
  firstOnly = false,
): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(new ArrayBuffer(PLAN.bytes));
  const view = new DataView(bytes.buffer);
  const { offsets } = PLAN;
  view.setUint16(offsets.room, room, true);
  view.setUint8(offsets.go_registers, isGo === true ? 1 : 0);
  view.setUint8(offsets.only_argument, only?.argument ?? 0);
  view.setUint8(offsets.only_value, only?.value ?? 0);
  view.setUint8(offsets.first_only, firstOnly ? 1 : 0);
  view.setUint8(offsets.parts, parts.filter((part) => !isBehind(part)).length);
  for (const [i, part] of parts.entries()) {
    if (!isBehind(part)) {
      view.setUint16(offsets.at + 2 * i, starts[i] ?? 0, true);
      view.setUint16(offsets.bytes + 2 * i, partBytes(part), true);
    }
    if (part.form === "batch") {
      view.setUint8(offsets.walks, ENGINE_WALK.batch);
      view.setUint16(offsets.batch_tokens, part.offsets.tokens, true);
      view.setUint16(offsets.batch_positions, part.offsets.positions, true);
      view.setUint16(offsets.batch_sequence_counts, part.offsets.sequenceCounts ?? part.offsets.sequences, true);
      view.setUint8(offsets.batch_flat, part.offsets.sequenceCounts === null ? 1 : 0);
      view.setUint16(offsets.batch_sequences, part.offsets.sequences, true);
      view.setUint16(offsets.batch_logits, part.offsets.logits ?? 0, true);
      continue;
    }
    if (part.form === "indexes") {
      const { offsets: from } = part;
      view.setUint8(offsets.walks, ENGINE_WALK.graph);
      view.setUint16(offsets.graph_count, from.count, true);
      view.setUint16(offsets.graph_nodes, from.nodes, true);
      view.setUint16(offsets.operation, from.operation, true);
      view.setUint16(offsets.node_operation, from.nodeOperation, true);
      view.setUint16(offsets.node_operand, from.operand, true);
      view.setUint16(offsets.node_owner, from.owner, true);
      view.setUint16(offsets.tensor_buffer, from.buffer, true);
      view.setUint16(offsets.buffer_usage, from.usage, true);
      view.setUint16(offsets.passing_usage, from.passing, true);
      view.setUint16(offsets.tensor_data, from.data, true);
      setNumbers(view, from);
      continue;
    }
    if (part.form === "blocks") {
      const { offsets: from } = part;
      view.setUint8(offsets.walks, ENGINE_WALK.blocks);
      view.setUint8(offsets.query_argument, from.query);
      view.setUint8(offsets.cache_argument, from.cache);
      view.setUint8(offsets.starts_argument, from.starts);
      view.setUint8(offsets.lengths_argument, from.lengths);
      view.setUint16(offsets.window_place, from.window, true);
      view.setUint16(offsets.blocks_place, from.table, true);
      view.setUint16(offsets.torch_sizes, from.sizes, true);
      setTorchData(view, from);
      continue;
    }
    if (part.form === "numbers") {
      const { offsets: from } = part;
      view.setUint8(offsets.walks, ENGINE_WALK.numbers);
      view.setUint8(offsets.numbers_argument, part.from);
      setTorchData(view, from);
      setNumbers(view, from);
      continue;
    }
    if (part.form === "rows") {
      const { offsets: from } = part;
      view.setUint8(offsets.walks, ENGINE_WALK.rows);
      view.setUint8(offsets.numbers_argument, part.from);
      view.setUint16(offsets.tensor_name, from.name, true);
      view.setUint16(offsets.node_operand, from.operand, true);
      view.setUint16(offsets.tensor_type, from.type, true);
      view.setUint16(offsets.tensor_elements, from.sizes, true);
      view.setUint16(offsets.tensor_strides, from.strides, true);
      view.setUint16(offsets.tensor_data, from.data, true);
      view.setUint16(offsets.narrow_type, from.narrowType, true);
      continue;
    }
    view.setUint8(offsets.form + i, ENGINE_FORM[part.form]);
    view.setUint8(offsets.source + i, part.from === "structure" ? ENGINE_SOURCE.structure : part.from);
    if (part.form === "bytes") {
      const { follow = [], skip = 0 } = part;
      view.setUint16(offsets.skip + 2 * i, skip, true);
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
