/** Numbers that the kernel programs share with the reader: bits of flags, words of numbers, sizes and limits. */

/** Bits of a column, each with what it says; "" where the name says it. */
export type Bits = Readonly<Record<string, readonly [bit: number, meaning: string]>>;

type Numbers<B extends Bits> = { readonly [N in keyof B]: B[N][0] };

/** Bits as English: "1 write, 2 taken in user mode". */
export function bitList(bits: Bits): string {
  return Object.entries(bits)
    .map(([name, [bit, meaning]]) => `${bit} ${meaning === "" ? name : meaning}`)
    .join(", ");
}

function numbersOf<const B extends Bits>(bits: B): Numbers<B> {
  return Object.fromEntries(Object.entries(bits).map(([name, [bit]]) => [name, bit])) as Numbers<B>;
}

export const FAULT_BITS = {
  write: [1, ""],
  user: [2, "taken in user mode"],
  instruction: [4, "instruction fetch"],
  protection: [8, "protection fault"],
  major_done: [16, "the second row of a major fault: its I/O is done"],
  op_unknown: [32, "read or write not known"],
} as const satisfies Bits;
export const FAULT = numbersOf(FAULT_BITS);

export const TRAP_BITS = {
  in_kernel: [1, "taken in the kernel"],
  stopped: [2, "this trap stopped the register"],
} as const satisfies Bits;
export const TRAP = numbersOf(TRAP_BITS);

/** What a register of a watch is: alone, or one of a pair that tells stores from loads. */
export const ROLE = { single: 0, pair_w: 1, pair_rw: 2 } as const;

/** Where the parts of the cookie of a watch's register lie: generation, then slot, then role. */
export const WATCH_COOKIE = { role_mask: 3, slot_shift: 2, generation_shift: 8 } as const;

/** `slots`: watches at a time. Traps of other processes, and traps before the exposure, at which a register stops. */
export const WATCH = { slots: 64, foreign_limit: 8, early_limit: 64 } as const;

/** The cookie of an event of the PMU: its number, and whether a sample without an operation is a load or store still. */
export const SAMPLE_COOKIE = { event_mask: 15, op_known: 16 } as const;

/** `events`: of one run; the count of event e on CPU c is element c * events + e. */
export const SAMPLE = { events: 16 } as const;

/** Where the parts of the cookie of an engine's probe lie: what is copied, and the number of the probe. */
export const ENGINE_COOKIE = { probe_mask: 0xffff, capture_shift: 16, capture_mask: 0xff } as const;

/** What a probe of an engine copies. */
export const CAPTURE = {
  none: 0,
  /** The tensor at argument 1 and its buffer, at argument 0. */
  tensor: 1,
  /** The buffer at argument 0, or the one returned. */
  buffer: 2,
  /** The string at argument 0. */
  path: 3,
  /** The structure passed by value as argument 1, and what its arrays hold. */
  batch: 4,
  /** The structure passed by value as argument 1. */
  params: 5,
  /** The graph at argument 0. */
  graph: 6,
} as const;
export type Capture = (typeof CAPTURE)[keyof typeof CAPTURE];

/** Bytes that are copied of structures of which only the reader knows the fields. */
export const PART_BYTES = { tensor: 336, buffer: 120, path: 1024, params: 192, graph: 64 } as const;

/** Every group; the C name of a number is that of the group, an underscore and the number's own. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  FAULT,
  TRAP,
  ROLE,
  WATCH_COOKIE,
  WATCH,
  SAMPLE_COOKIE,
  SAMPLE,
  ENGINE_COOKIE,
  CAPTURE,
  PART_BYTES,
};

/** The C text of every group. */
export function numberDefines(): string[] {
  return Object.entries(GROUPS).flatMap(([group, numbers]) => [
    "",
    ...Object.entries(numbers).map(([name, value]) => `#define ${group}_${name.toUpperCase()} ${value}`),
  ]);
}
