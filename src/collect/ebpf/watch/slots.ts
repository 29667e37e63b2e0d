/** The words that the kernel program and the reader share: one slot per watch, one account of traps per CPU. */
import type { BpfMap } from "../../../kernel/bpf-map.ts";

/** Bytes of struct watch_slot and of struct watch_cost in bpf/watch.bpf.c. */
const SLOT_WORDS = 128 / 4;
const COST_WORDS = 64 / 4;
const SLOT = {
  generation: 0,
  pid: 1,
  limit: 2,
  armed: 3,
  hits: 4,
  foreign: 5,
  kernel: 6,
  early: 7,
  stop: 8,
  addr: 10,
  continued: 20,
} as const;
const COST = { traps: 0, stale: 2, foreign: 4, early: 6, beyond: 8 } as const;

export const ROLE = { single: 0, pair_w: 1, pair_rw: 2 } as const;
export const TRAP_FLAG = { in_kernel: 1, stopped: 2 } as const;
/** As in bpf/watch.bpf.c: traps of other processes, and traps before the exposure, at which a register stops. */
export const FOREIGN_LIMIT = 8;
export const EARLY_LIMIT = 64;
export const MAX_GENERATION = 0xffffff;

/** generation << 8 | slot << 2 | role. */
export function cookieOf(generation: number, slot: number, role: number): number {
  return ((generation << 8) | (slot << 2) | role) >>> 0;
}

export interface SlotState {
  /** Accesses: a string instruction counts once, however many traps it makes. */
  readonly hits: number;
  /** Traps that only continued a string instruction. */
  readonly continued: number;
  readonly foreign: number;
  readonly kernel: number;
  readonly early: number;
  /** When the traps of other processes stopped the first register; 0n while they did not. */
  readonly foreignStopNs: bigint;
}

/** Traps since the last reading, by what they were; `traps` counts all of them. */
export interface CpuTraps {
  readonly traps: number;
  readonly stale: number;
  readonly foreign: number;
  readonly early: number;
  readonly beyond: number;
}

export interface SharedSlots extends Disposable {
  /** Gives a slot to a new watch; no register with its cookie may be open. */
  assign(slot: number, generation: number, pid: number, addr: bigint, limit: number): void;
  /** Begins the exposure: traps before it are charged but not recorded. */
  arm(slot: number): void;
  state(slot: number): SlotState;
  /** New traps on one CPU. */
  takeTraps(cpu: number): CpuTraps;
}

/** Maps the two arrays of the program. */
export function openSlots(slots: BpfMap, costs: BpfMap): SharedSlots {
  const owned = new DisposableStack();
  const words = new Uint32Array(owned.use(slots.mmap()).buffer);
  const costWords = new Uint32Array(owned.use(costs.mmap()).buffer);
  const seen = new Uint32Array(costWords.length);
  const load = (slot: number, field: number) => Atomics.load(words, slot * SLOT_WORDS + field);
  const delta = (cpu: number, field: number) => {
    const at = cpu * COST_WORDS + field;
    const now = Atomics.load(costWords, at);
    const grown = (now - (seen[at] ?? 0)) >>> 0;
    seen[at] = now;
    return grown;
  };
  return {
    assign(slot, generation, pid, addr, limit) {
      const at = slot * SLOT_WORDS;
      words.fill(0, at, at + SLOT_WORDS);
      words[at + SLOT.pid] = pid;
      words[at + SLOT.limit] = limit;
      words[at + SLOT.addr] = Number(addr & 0xffffffffn);
      words[at + SLOT.addr + 1] = Number(addr >> 32n);
      Atomics.store(words, at + SLOT.generation, generation);
    },
    arm: (slot) => void Atomics.store(words, slot * SLOT_WORDS + SLOT.armed, 1),
    state: (slot) => ({
      hits: load(slot, SLOT.hits),
      continued: load(slot, SLOT.continued),
      foreign: load(slot, SLOT.foreign),
      kernel: load(slot, SLOT.kernel),
      early: load(slot, SLOT.early),
      foreignStopNs: (BigInt(load(slot, SLOT.stop + 1)) << 32n) | BigInt(load(slot, SLOT.stop)),
    }),
    takeTraps: (cpu) => ({
      traps: delta(cpu, COST.traps),
      stale: delta(cpu, COST.stale),
      foreign: delta(cpu, COST.foreign),
      early: delta(cpu, COST.early),
      beyond: delta(cpu, COST.beyond),
    }),
    [Symbol.dispose]: () => owned.dispose(),
  };
}
