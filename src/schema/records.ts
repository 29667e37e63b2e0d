/** C structs of single records and counters that the kernel programs share with the reader; the header is generated. */

import { ENGINE, TARGET } from "./shared-numbers.ts";

/** Kinds of lifecycle records; the C constant is LIFECYCLE_<NAME>. */
export const LIFECYCLE_KINDS = [
  "mmap",
  "munmap",
  "mremap",
  "brk",
  "madvise",
  "mprotect",
  "other_call",
  "fork",
  "exec",
  "exit",
] as const;

const WIDTHS = { u64: 8, i64: 8, u32: 4, i32: 4, u16: 2, u8: 1 } as const;
type FieldType = keyof typeof WIDTHS;
/** name, type, and the count of an array. */
type Field = readonly [name: string, type: FieldType, count?: number];

/** Fields in order, each at a multiple of its width, so that no compiler pads. */
export const RECORDS = {
  /** The pid namespace by which processes are numbered; all 0 where the kernel's own numbers are. */
  pid_view: [
    /** Which it is: its address in the kernel. */
    ["ns", "u64"],
    /** How deep it lies below the first. */
    ["level", "u32"],
    /** The number that the tracer has in it. */
    ["pid", "u32"],
  ],
  /** What is known of a watched process. */
  target: [
    ["exec_epoch", "u32"],
    /** Records of its calls, births, execs and ends that found no room. */
    ["lost", "u32"],
    /** Whose address space it lives in, until its exec (vfork, posix_spawn); 0 for its own. */
    ["lender", "u32"],
    ["pad", "u32"],
    /** Threads of it for which a probe of ours reads its memory just now, each at the rest of its number; 0 for none. */
    ["reading", "u32", TARGET.readers],
  ],
  lifecycle_record: [
    ["begin_ns", "u64"],
    ["end_ns", "u64"],
    ["args", "u64", 6],
    ["result", "i64"],
    ["kind", "u32"],
    ["pid", "u32"],
    ["tid", "u32"],
    ["exec_epoch", "u32"],
  ],
  lifecycle_counters: [
    ["seen", "u64"],
    ["dropped_ring_full", "u64"],
    ["dropped_call_table", "u64"],
    ["dropped_target_table", "u64"],
    ["returns_without_entry", "u64"],
    /** Advice on the memory of other processes, which changes no mapping. */
    ["advice_elsewhere", "u64"],
    /** Calls after which bytes come and go past the mapping that a watch is on: opens with O_DIRECT, ... */
    ["direct_opens", "u64"],
    /** ... buffers that were registered with io_uring, ... */
    ["buffer_registrations", "u64"],
    /** ... pages given to a pipe, and copies to and from the memory of another process. */
    ["splices", "u64"],
    ["process_copies", "u64"],
  ],
  /** What became of the samples of one event on one CPU; only that CPU writes. */
  sample_count: [
    ["runs", "u64"],
    /** Sum of the periods of all runs. */
    ["period", "u64"],
    /** Of a process that is not ours. */
    ["foreign", "u64"],
    /** Neither a load nor a store, or without an address. */
    ["not_memory", "u64"],
    /** On an address of the kernel. */
    ["kernel_address", "u64"],
    /** After which the kernel stopped the event until its next tick. */
    ["throttled", "u64"],
    ["unreadable", "u64"],
    /** Time from such a sample to the next one of any kind, 10 ms at most. */
    ["stopped_ns", "u64"],
    /** When the kernel stopped the event; 0 while it runs. */
    ["stopped_at_ns", "u64"],
    ["pad", "u64", 7],
  ],
  /** What became of the samples of the timer of one CPU; only that CPU writes. */
  tick_count: [
    ["runs", "u64"],
    /** Sum of the periods of all runs, in ns. */
    ["period", "u64"],
    /** Of a process that is not ours. */
    ["foreign", "u64"],
    /** Of a process of ours while the kernel worked for it. */
    ["in_kernel", "u64"],
    /** In 32-bit code. */
    ["other_mode", "u64"],
    /** On a string instruction that repeats, of a process of ours or of the kernel for it. */
    ["in_string", "u64"],
    ["pad", "u64", 2],
  ],
  /** One watch at a time; several CPUs share it. User space fills it before the registers open. */
  watch_slot: [
    ["generation", "u32"],
    ["pid", "u32"],
    ["limit", "u32"],
    ["armed", "u32"],
    ["hits", "u32"],
    ["foreign", "u32"],
    ["kernel", "u32"],
    ["early", "u32"],
    ["foreign_stop_ns", "u64"],
    ["addr", "u64"],
    /** The last trap, to know the next one of the same string instruction. */
    ["last_ip", "u64"],
    ["last_si", "u64"],
    ["last_di", "u64"],
    ["last_tid", "u32"],
    ["burst", "u32"],
    /** Traps that only continued a string instruction. */
    ["continued", "u32"],
    /** Traps by what a probe of ours read, and when the last was. */
    ["probed", "u32"],
    ["probed_ns", "u64"],
    ["pad", "u32", 8],
  ],
  /** What the traps of one CPU were; only that CPU writes. */
  watch_cost: [
    ["traps", "u64"],
    ["stale", "u64"],
    ["foreign", "u64"],
    ["early", "u64"],
    ["beyond", "u64"],
    /** Slots whose register of this CPU stopped itself, one bit for each; that of stores of a pair by itself. */
    ["stopped", "u64"],
    ["stopped_w", "u64"],
    ["probed", "u64"],
  ],
  /** One hit of an engine's probe; the copied parts follow. */
  engine_record: [
    ["timestamp_ns", "u64"],
    /** At entry the arguments; at return the value is the first. */
    ["args", "u64", ENGINE.arguments],
    ["pid", "u32"],
    ["tid", "u32"],
    /** Number of the plan by which the parts were copied. */
    ["capture", "u16"],
    ["is_return", "u16"],
    /** Bit i: part i could not be read. */
    ["unreadable", "u32"],
    ["exec_epoch", "u32"],
    ["pad", "u32"],
  ],
  /** What a probe of an engine copies: some parts, one behind the other. */
  engine_capture: [
    /** Bytes that its record has for them. */
    ["room", "u16"],
    ["parts", "u8"],
    /** ENGINE_WALK_BATCH: the one part is what a batch holds. ENGINE_WALK_GRAPH: behind the parts comes what an operand holds. ENGINE_WALK_BLOCKS: the blocks of a step's requests. ENGINE_WALK_NUMBERS: the numbers of a tensor. ENGINE_WALK_ROWS: the rows of numbers of an operation's second operand. */
    ["walks", "u8"],
    ["batch_tokens", "u16"],
    ["batch_positions", "u16"],
    ["batch_sequence_counts", "u16"],
    ["batch_sequences", "u16"],
    /** Of a graph: its number of nodes and its list of them. */
    ["graph_count", "u16"],
    ["graph_nodes", "u16"],
    /** The operation that is looked for, and where a node has its own, and the pointer to its operand. */
    ["operation", "u16"],
    ["node_operation", "u16"],
    ["node_operand", "u16"],
    /** The tensor that a node's data is of, the buffer of a tensor, the usage of a buffer, and that of one whose data passes. */
    ["node_owner", "u16"],
    ["tensor_buffer", "u16"],
    ["buffer_usage", "u16"],
    ["passing_usage", "u16"],
    /** Of a tensor: its type, its number of elements (i64), the address of its data. */
    ["tensor_type", "u16"],
    ["tensor_elements", "u16"],
    ["tensor_data", "u16"],
    /** Types of numbers of 4 and of 8 bytes. */
    ["narrow_type", "u16"],
    ["wide_type", "u16"],
    /** Arguments that refer to tensors: what is asked, the cache, where each request begins, how long it is. */
    ["query_argument", "u8"],
    ["cache_argument", "u8"],
    ["starts_argument", "u8"],
    ["lengths_argument", "u8"],
    /** Where on the stack the window of attention lies, and the reference to the table of blocks. */
    ["window_place", "u16"],
    ["blocks_place", "u16"],
    /** Of a tensor of torch: its storage, its sizes and strides, its first element; of a storage: its data. */
    ["torch_storage", "u16"],
    ["torch_sizes", "u16"],
    ["torch_strides", "u16"],
    ["torch_offset", "u16"],
    ["torch_data", "u16"],
    /** Not 0 for a function of Go, which gets its arguments in registers of its own. */
    ["go_registers", "u8"],
    /** Not 0 for a batch that has one sequence (i64) for each token instead of lists of them. */
    ["batch_flat", "u8"],
    /** The argument that refers to a tensor of numbers, or to the operation that has them. */
    ["numbers_argument", "u8"],
    /** Not 0 where, of calls that read blocks, those on any but the first cache of a storage are passed over. */
    ["first_only", "u8"],
    /** Not 0 where a call is passed over unless this argument has this value. */
    ["only_argument", "u8"],
    ["only_value", "u8"],
    /** For each part the argument that points to it, or ENGINE_SOURCE_STRUCTURE. */
    ["source", "u8", ENGINE.parts],
    ["form", "u8", ENGINE.parts],
    ["count_argument", "u8", ENGINE.parts],
    /** Place in the payload, greatest length, and of an array that of one element. */
    ["at", "u16", ENGINE.parts],
    ["bytes", "u16", ENGINE.parts],
    ["element_bytes", "u16", ENGINE.parts],
    /** Pointers that lead on to a part: how many, and where each lies behind the one before. */
    ["follows", "u8", ENGINE.parts],
    ["follow", "u16", ENGINE.parts * ENGINE.follows],
    /** Bytes that are left out in front of each part. */
    ["skip", "u16", ENGINE.parts],
    /** Of a tensor: its bytes from one element to the next, by dimension (u64), and its name. */
    ["tensor_strides", "u16"],
    ["tensor_name", "u16"],
    /** The array of flags (i8) by which tokens of a batch ask for logits; left out where the batch is flat. */
    ["batch_logits", "u16"],
    ["pad", "u16"],
  ],
  /** A batch; its runs follow. */
  engine_batch: [
    ["n_tokens", "i32"],
    /** 0 where the batch leaves the positions to the engine. */
    ["has_positions", "u16"],
    /** 0 where it does not say which tokens ask for logits, or that could not be read. */
    ["has_logits", "u16"],
    ["runs", "u32"],
    /** The first tokens of the batch, which the runs hold; the rest was too much, or could not be read. */
    ["tokens_held", "u32"],
  ],
  /** Tokens of a batch, one behind the other, of the same sequences at ascending positions. */
  engine_batch_run: [
    /** Of the first of them. */
    ["position", "i32"],
    ["tokens", "u32"],
    /** The first of their sequences, how many they are (65535 for more), and which of 0 to 63 are among the first of them. */
    ["sequence", "i32"],
    ["sequences", "u16"],
    /** How many of them, the last ones, ask for logits: 65535 for more. */
    ["asking", "u16"],
    ["sequence_mask", "u64"],
  ],
  /** What the operand of the first node of an operation holds that writes data that stays, or a tensor of numbers; the runs follow. */
  engine_indexes: [
    /** Address of the node's data, or of the numbers; 0 where there is no such node, or no such tensor. */
    ["target", "u64"],
    /** How many numbers there are. */
    ["elements", "u32"],
    ["runs", "u32"],
    /** The first of its numbers, which the runs hold; the rest was too much, or could not be read. */
    ["held", "u32"],
    ["pad", "u32"],
  ],
  /** Rows of numbers of an operation's operand; they follow, one behind the other. */
  engine_rows: [
    /** Of the operation. */
    ["name", "u8", ENGINE.row_name_bytes],
    ["row_bytes", "u32"],
    /** How many there are; 0 where the operand is no such tensor. */
    ["rows", "u32"],
    /** The first of them, which follow; the rest was too much, or could not be read. */
    ["held", "u32"],
    ["pad", "u32"],
  ],
  /** Numbers that follow each other. */
  engine_index_run: [
    ["first", "u32"],
    ["count", "u32"],
  ],
  /** The requests of a step of a paged cache; what each has follows, then all their blocks in the same order, as runs of indexes. */
  engine_blocks: [
    /** Of the step. */
    ["tokens", "u32"],
    ["requests", "u32"],
    /** The first of them, which the record holds with all their blocks; the rest was too much, or could not be read. */
    ["requests_held", "u32"],
    ["runs", "u32"],
    /** Blocks in the runs. */
    ["held", "u32"],
    /** 1 where tokens look back over a window only. */
    ["has_window", "u32"],
  ],
  engine_block_request: [
    /** In the step. */
    ["tokens", "u32"],
    /** Of the request so far, those of the step among them. */
    ["length", "u32"],
  ],
  engine_counts: [
    ["hits", "u64"],
    /** Those at which the processor stepped over what the probe replaced. */
    ["stepped", "u64"],
    /** Of processes that are not watched. */
    ["foreign", "u64"],
    /** Calls with another value of an argument than the plan wants. */
    ["unwanted", "u64"],
    ["ring_full", "u64"],
    /** Records with a part that could not be read. */
    ["unreadable", "u64"],
  ],
} as const satisfies Record<string, readonly Field[]>;

export type RecordName = keyof typeof RECORDS;
export type FieldOf<N extends RecordName> = (typeof RECORDS)[N][number][0];

export interface RecordLayout<N extends RecordName = RecordName> {
  /** Offset in bytes of every field. */
  readonly offsets: Readonly<Record<FieldOf<N>, number>>;
  readonly bytes: number;
}

/** Where the fields of a struct lie, and its size. */
export function recordLayout<N extends RecordName>(name: N): RecordLayout<N> {
  const offsets: Record<string, number> = {};
  let offset = 0;
  for (const [field, type, count] of RECORDS[name] as readonly Field[]) {
    offsets[field] = offset;
    offset += WIDTHS[type] * (count ?? 1);
  }
  return { offsets: offsets as Record<FieldOf<N>, number>, bytes: Math.ceil(offset / 8) * 8 };
}

/** The C text of every record. */
export function recordStructs(): string[] {
  const out: string[] = ["", "enum lifecycle_kind {"];
  for (const [value, kind] of LIFECYCLE_KINDS.entries()) out.push(`\tLIFECYCLE_${kind.toUpperCase()} = ${value},`);
  out.push("};");
  for (const name of Object.keys(RECORDS) as RecordName[]) {
    const { offsets, bytes } = recordLayout(name);
    out.push("", `struct ${name} {`);
    for (const [field, type, count] of RECORDS[name] as readonly Field[]) {
      out.push(`\t__${type.replace("i", "s")} ${field}${count ? `[${count}]` : ""};`);
    }
    out.push("};", `_Static_assert(sizeof(struct ${name}) == ${bytes}, "${name} size");`);
    for (const [field, offset] of Object.entries(offsets)) {
      out.push(`_Static_assert(__builtin_offsetof(struct ${name}, ${field}) == ${offset}, "${name}.${field}");`);
    }
  }
  return out;
}
