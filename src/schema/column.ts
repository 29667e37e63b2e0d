/** What a column and a table are, and the columns that several tables share. */

/** Storage type of a column, the same word for C, typed arrays and Arrow. */
export type ColumnType = "u64" | "i64" | "u32" | "i32" | "u16" | "u8" | "f64" | "f32" | "bool" | "string";

/** Words, each with what it means; "" where the word says it. */
export type Words = Readonly<Record<string, string>>;

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Unit in words; "" for identifiers and names. */
  readonly unit: string;
  readonly doc: string;
  /** True where a row may have no value. */
  readonly nullable?: boolean;
  /** True where the kernel writes the column into a ring block; the others are filled by the reader. */
  readonly ring?: boolean;
  /** The words that it may hold, where they are a closed list. */
  readonly words?: Words;
}

export interface Table {
  readonly doc: string;
  /** "capture": a stream below capture/. "derived": a file that analyse writes. "ring": never stored as it is. */
  readonly kind: "capture" | "derived" | "ring";
  readonly columns: readonly Column[];
}

// Names and types are kept as words, so that rows and Arrow tables are typed by the table.
export function col<const N extends string, const T extends ColumnType>(name: N, type: T, unit: string, doc: string) {
  return { name, type, unit, doc };
}
/** A column that may be null. */
export function opt<const N extends string, const T extends ColumnType>(name: N, type: T, unit: string, doc: string) {
  return { name, type, unit, doc, nullable: true as const };
}
/** A column that the kernel writes. */
export function ring<const N extends string, const T extends ColumnType>(name: N, type: T, unit: string, doc: string) {
  return { name, type, unit, doc, ring: true };
}
/** Words as English: "a, b (what b means) or c". */
export function listed(words: Words): string {
  const all = Object.entries(words).map(([word, meaning]) => (meaning === "" ? word : `${word} (${meaning})`));
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} or ${all.at(-1)}`;
}
/** A column that holds one of some words. @param about a sentence of its own, without the full stop */
export function words<const N extends string, const W extends Words>(name: N, words: W, about = "") {
  const doc = `${listed(words)}.${about === "" ? "" : ` ${about}.`}`;
  return { name, type: "string" as const, unit: "", doc, words };
}
/** Such a column that may be null. */
export function optWords<const N extends string, const W extends Words>(name: N, list: W, about = "") {
  return { ...words(name, list, about), nullable: true as const };
}

export const TIME = col("timestamp_ns", "u64", "ns of CLOCK_MONOTONIC", "When it happened.");
export const RING_TIME = { ...TIME, ring: true };
export const PID = col("pid", "u32", "", "Process (thread group) by its number in the tracer's own /proc.");
export const TID = col("tid", "u32", "", "Thread by its number in the tracer's own /proc.");
export const EPOCH = col("exec_epoch", "u32", "count", "How many exec calls this pid had made: 0 before the first.");
export const CPU = col("cpu", "u16", "", "CPU on which it happened.");
