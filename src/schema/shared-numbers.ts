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

/** `readers`: threads of a process that are known at one time to be at a probe that reads; a power of two. */
export const TARGET = { readers: 16 } as const;

/** The cookie of an event of the PMU: its number, and whether a sample without an operation is a load or store still. */
export const SAMPLE_COOKIE = { event_mask: 15, op_known: 16 } as const;

/** `events`: of one run; the count of event e on CPU c is element c * events + e. */
export const SAMPLE = { events: 16 } as const;

/** `captures`: plans of what probes of engines copy. `parts`: of one plan. `follows`: pointers that lead to one. `arguments`: of a call. `least_runs`: of a batch, or of an operand, with as many tokens at most, as a step of a server has that decodes, and of the rows of a static cache that are written; `few_runs`: of a larger one, such as of a prompt; `many_runs`: of one that is larger still. `nodes`: of a graph that are looked at. `block_requests`, `block_runs`, `block_steps`: of one step of a paged cache, and blocks of it that are gone through; `few_block_requests`, `few_block_runs`: of a step that needs no more, whose record is small. `row_name_bytes`: of an operation; `row_most_bytes`: of a row of numbers; `rows_short_bytes`: of the rows of few tokens; `rows_long_bytes`: of those of many. */
export const ENGINE = {
  captures: 512,
  parts: 4,
  follows: 3,
  arguments: 5,
  least_runs: 16,
  few_runs: 128,
  many_runs: 512,
  nodes: 512,
  few_block_requests: 16,
  few_block_runs: 128,
  block_requests: 256,
  block_runs: 512,
  block_steps: 32768,
  row_name_bytes: 32,
  row_most_bytes: 256,
  rows_short_bytes: 640,
  rows_long_bytes: 24832,
} as const;

/** What is gone through at a probe, beside the parts that are copied. */
export const ENGINE_WALK = { batch: 1, graph: 2, blocks: 3, numbers: 4, rows: 5 } as const;

/** What the cookie of a probe says beside the number of its plan, which has the lower 32 bits. */
export const ENGINE_COOKIE = {
  /** The processor steps over what the probe replaced. */
  stepped: 2 ** 32,
  /** The function has aligned its stack anew: what was behind the address of return is where r10 points. */
  realigned: 2 ** 33,
} as const;

/** Where a part of a plan lies; below it is the number of the argument that points there. */
export const ENGINE_SOURCE = { structure: 8 } as const;

/** How a part is copied. */
export const ENGINE_FORM = {
  /** Its length. */
  bytes: 0,
  /** Up to its end, or its length. */
  string: 1,
  /** As many elements as another argument says, or its length. */
  array: 2,
} as const;

/** Bytes for the parts of a plan; the least that fits is taken. */
export const ENGINE_ROOM = { small: 128, compact: 256, medium: 512, large: 1024 } as const;

/** Where the last part of a plan begins at most, by its room; the verifier adds the greatest place to the greatest length. */
export const ENGINE_START = { small: 32, compact: 128, medium: 208, large: 256 } as const;

/** Every group; the C name of a number is that of the group, an underscore and the number's own. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  FAULT,
  TRAP,
  ROLE,
  WATCH_COOKIE,
  WATCH,
  TARGET,
  SAMPLE_COOKIE,
  SAMPLE,
  ENGINE,
  ENGINE_WALK,
  ENGINE_COOKIE,
  ENGINE_SOURCE,
  ENGINE_FORM,
  ENGINE_ROOM,
  ENGINE_START,
};

/** The C text of every group. */
export function numberDefines(): string[] {
  return Object.entries(GROUPS).flatMap(([group, numbers]) => [
    "",
    ...Object.entries(numbers).map(([name, value]) => `#define ${group}_${name.toUpperCase()} ${value}`),
  ]);
}
