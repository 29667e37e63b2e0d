/** Rows as the kernel writes them, which are never stored so. */
import { CPU, PID, RING_TIME, ring, type Table, TID } from "./column.ts";
import { bitList, TRAP_BITS } from "./shared-numbers.ts";

/** General registers, as the kernel's struct pt_regs calls them, in the order of their numbers in instructions. */
export const REGISTERS = [
  ...(["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"] as const),
  ...(["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"] as const),
] as const;

export const RING_TABLES = {
  trap: {
    kind: "ring",
    doc: "One trap of a hardware watchpoint, as the kernel program writes it; the reader makes access rows of it.",
    columns: [
      RING_TIME,
      ring("ip", "u64", "address", "Instruction after the access; the instruction itself for rep."),
      ring("register_si", "u64", "", "rsi at the trap."),
      ring("register_di", "u64", "", "rdi at the trap."),
      { ...PID, ring: true },
      { ...TID, ring: true },
      ring("cookie", "u32", "bits", "generation << 8 | slot << 2 | role (0 RW, 1 W of a pair, 2 RW of a pair)."),
      ring("trap_flags", "u32", "bits", `${bitList(TRAP_BITS)}.`),
    ],
  },
  sample: {
    kind: "ring",
    doc: "One sample of the PMU on a user address, as the kernel program writes it; the reader makes access rows of it.",
    columns: [
      RING_TIME,
      ring("address", "u64", "address", "Data address."),
      ring("ip", "u64", "address", "Instruction of the access, or the one after it where the precise level is 1."),
      ring("period", "u64", "events", "Events that the sample stands for."),
      ring("data_src", "u64", "bits", "perf's data source word; 0 where the sample has none."),
      ring(
        "weight",
        "u64",
        "bits",
        "Weight as perf gives it: latency in cycles in the low 32 bits, then two of 16 bits.",
      ),
      { ...PID, ring: true },
      { ...TID, ring: true },
      ring("event", "u32", "", "Number of the event in the plan of the run."),
      CPU,
    ],
  },
  tick: {
    kind: "ring",
    doc: "One sample of the timer in a program's own code, as the kernel program writes it; the reader makes access rows of it.",
    columns: [
      RING_TIME,
      ring("ip", "u64", "address", "Instruction that runs next."),
      ring("period", "u64", "ns", "Time that the sample stands for."),
      ...REGISTERS.map((name) => ring(name, "u64", "", `Register r${name.replace(/^r/, "")} before that instruction.`)),
      ring("fs_base", "u64", "address", "Where segment fs begins: thread-local storage."),
      ring("gs_base", "u64", "address", "Where segment gs begins."),
      { ...PID, ring: true },
      { ...TID, ring: true },
      CPU,
    ],
  },
} as const satisfies Record<string, Table>;
