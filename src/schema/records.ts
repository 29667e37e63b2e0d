/** C structs of single records and counters that the kernel programs share with the reader; the header is generated. */

/** Kinds of lifecycle records; the C constant is LIFECYCLE_<NAME>. */
export const LIFECYCLE_KINDS = [
  "mmap",
  "munmap",
  "mremap",
  "brk",
  "madvise",
  "mprotect",
  "fork",
  "exec",
  "exit",
] as const;

type FieldType = "u64" | "i64" | "u32";
/** name, type, and the count of an array. */
type Field = readonly [name: string, type: FieldType, count?: number];

/** Fields in order, wide ones first, so that no compiler pads. */
export const RECORDS = {
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
    ["pad", "u64", 3],
  ],
} as const satisfies Record<string, readonly Field[]>;

export type RecordName = keyof typeof RECORDS;

/** Offset in bytes of every field, and the size of the struct. */
export function recordLayout(name: RecordName): { readonly offsets: Record<string, number>; readonly bytes: number } {
  const offsets: Record<string, number> = {};
  let offset = 0;
  for (const [field, type, count] of RECORDS[name] as readonly Field[]) {
    offsets[field] = offset;
    offset += (type === "u32" ? 4 : 8) * (count ?? 1);
  }
  return { offsets, bytes: Math.ceil(offset / 8) * 8 };
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
      out.push(`\t__${type === "i64" ? "s64" : type} ${field}${count ? `[${count}]` : ""};`);
    }
    out.push("};", `_Static_assert(sizeof(struct ${name}) == ${bytes}, "${name} size");`);
    for (const [field, offset] of Object.entries(offsets)) {
      out.push(`_Static_assert(__builtin_offsetof(struct ${name}, ${field}) == ${offset}, "${name}.${field}");`);
    }
  }
  return out;
}
