/** What happened by which code: stacks with how much of each kind fell on them. */

/** What can be summed over stacks, with its unit and what it is. */
export const VALUES = {
  allocated_bytes: { unit: "bytes", about: "bytes that were allocated" },
  allocations: { unit: "count", about: "allocations" },
  live_bytes: { unit: "bytes", about: "bytes that were alive at the end" },
  live_allocations: { unit: "count", about: "allocations that were alive at the end" },
  peak_bytes: { unit: "bytes", about: "bytes that were alive when most were" },
  peak_allocations: { unit: "count", about: "allocations that were alive when most bytes were" },
  faults: { unit: "count", about: "page faults taken" },
  major_faults: { unit: "count", about: "of them those that waited for a disk" },
  accesses: { unit: "count", about: "loads and stores, estimated from samples" },
  cpu_ns: { unit: "nanoseconds", about: "CPU time, estimated from samples" },
} as const;
export type ValueName = keyof typeof VALUES;
export const VALUE_NAMES = Object.keys(VALUES) as [ValueName, ...ValueName[]];

export interface Frame {
  readonly function: string;
  /** Source file, or the object that holds the code; empty where nobody knows. */
  readonly file: string;
  readonly line: number | null;
}

export interface Stack {
  readonly pid: number;
  /** Outermost first; of an instruction that was seen alone its function only. */
  readonly frames: readonly Frame[];
  /** What else tells it from others of the same frames, such as the class of the bytes. */
  readonly labels: Readonly<Record<string, string>>;
  readonly values: Readonly<Partial<Record<ValueName, number>>>;
}

/** The values that any of the stacks has, in the order of the table. */
export function valuesOf(stacks: readonly Stack[]): ValueName[] {
  return VALUE_NAMES.filter((name) => stacks.some(({ values }) => values[name] !== undefined));
}
