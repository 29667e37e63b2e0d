/** The words that the kernel program and the reader share: one slot per watch, one account of traps per CPU. */
import type { BpfMap } from "../../../kernel/bpf-map.ts";
import { type FieldOf, recordLayout } from "../../../schema/records.ts";
import { ROLE, WATCH_COOKIE } from "../../../schema/shared-numbers.ts";

/** Where a field lies, in words of 32 bits. */
function words<N extends "watch_slot" | "watch_cost">(name: N): { at: Record<FieldOf<N>, number>; length: number } {
  const { offsets, bytes } = recordLayout(name);
  const wordOf = Object.fromEntries(Object.entries<number>(offsets).map(([field, offset]) => [field, offset / 4]));
  return { at: wordOf as Record<FieldOf<N>, number>, length: bytes / 4 };
}
const { at: SLOT, length: SLOT_WORDS } = words("watch_slot");
const { at: COST, length: COST_WORDS } = words("watch_cost");

export const MAX_GENERATION = 2 ** (32 - WATCH_COOKIE.generation_shift) - 1;

/** What the program learns of the register that trapped. */
export function cookieOf(generation: number, slot: number, role: number): number {
  return ((generation << WATCH_COOKIE.generation_shift) | (slot << WATCH_COOKIE.slot_shift) | role) >>> 0;
}

export interface SlotState {
  /** Accesses: a string instruction counts once, however many traps it makes. */
  readonly hits: number;
  /** Traps that only continued a string instruction. */
  readonly continued: number;
  readonly foreign: number;
  readonly kernel: number;
  readonly early: number;
  /** Traps by what our own probes read of the word: none of the program's accesses. */
  readonly probed: number;
  /** When the last of these was; 0n where there was none. */
  readonly probedNs: bigint;
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
  readonly probed: number;
}

export interface SharedSlots extends Disposable {
  /** Gives a slot to a new watch; no register with its cookie may be open. */
  assign(slot: number, generation: number, pid: number, addr: bigint, limit: number): void;
  /** Begins the exposure: traps before it are charged but not recorded. */
  arm(slot: number): void;
  state(slot: number): SlotState;
  /** True where the register of a CPU let a trap through since the slot was assigned, and so stopped itself. */
  hasStopped(slot: number, role: number, cpu: number): boolean;
  /** New traps on one CPU. */
  takeTraps(cpu: number): CpuTraps;
}

/** Maps the two arrays of the program. */
export function openSlots(slots: BpfMap, costs: BpfMap): SharedSlots {
  const owned = new DisposableStack();
  const slotWords = new Uint32Array(owned.use(slots.mmap()).buffer);
  const costWords = new Uint32Array(owned.use(costs.mmap()).buffer);
  const seen = new Uint32Array(costWords.length);
  /** Word and bit of a slot among those that have stopped on a CPU. */
  const stoppedAt = (slot: number, field: number, cpu: number): [number, number] => [
    cpu * COST_WORDS + field + (slot >> 5),
    1 << (slot & 31),
  ];
  const load = (slot: number, field: number) => Atomics.load(slotWords, slot * SLOT_WORDS + field);
  const time = (slot: number, field: number) => (BigInt(load(slot, field + 1)) << 32n) | BigInt(load(slot, field));
  const delta = (cpu: number, field: number) => {
    const word = cpu * COST_WORDS + field;
    const now = Atomics.load(costWords, word);
    const grown = (now - (seen[word] ?? 0)) >>> 0;
    seen[word] = now;
    return grown;
  };
  return {
    assign(slot, generation, pid, addr, limit) {
      const start = slot * SLOT_WORDS;
      for (let cpu = 0; cpu * COST_WORDS < costWords.length; cpu++) {
        for (const field of [COST.stopped, COST.stopped_w]) {
          const [word, bit] = stoppedAt(slot, field, cpu);
          Atomics.and(costWords, word, ~bit);
        }
      }
      slotWords.fill(0, start, start + SLOT_WORDS);
      slotWords[start + SLOT.pid] = pid;
      slotWords[start + SLOT.limit] = limit;
      slotWords[start + SLOT.addr] = Number(addr & 0xffffffffn);
      slotWords[start + SLOT.addr + 1] = Number(addr >> 32n);
      Atomics.store(slotWords, start + SLOT.generation, generation);
    },
    arm: (slot) => void Atomics.store(slotWords, slot * SLOT_WORDS + SLOT.armed, 1),
    state: (slot) => ({
      hits: load(slot, SLOT.hits),
      continued: load(slot, SLOT.continued),
      foreign: load(slot, SLOT.foreign),
      kernel: load(slot, SLOT.kernel),
      early: load(slot, SLOT.early),
      probed: load(slot, SLOT.probed),
      probedNs: time(slot, SLOT.probed_ns),
      foreignStopNs: time(slot, SLOT.foreign_stop_ns),
    }),
    hasStopped(slot, role, cpu) {
      const [word, bit] = stoppedAt(slot, role === ROLE.pair_w ? COST.stopped_w : COST.stopped, cpu);
      return (Atomics.load(costWords, word) & bit) !== 0;
    },
    takeTraps: (cpu) => ({
      traps: delta(cpu, COST.traps),
      stale: delta(cpu, COST.stale),
      foreign: delta(cpu, COST.foreign),
      early: delta(cpu, COST.early),
      beyond: delta(cpu, COST.beyond),
      probed: delta(cpu, COST.probed),
    }),
    [Symbol.dispose]: () => owned.dispose(),
  };
}
