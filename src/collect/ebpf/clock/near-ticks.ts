/** Where the program was at each tick: the addresses that the code around it accesses. */
import { MOST_SLOTS, runProgram } from "../../../code/address-program.ts";
import type { NearFinder } from "../../../code/near-finder.ts";
import type { BlockRows } from "../../../columnar/blocks.ts";
import { LINE_BYTES } from "./hot-blocks.ts";
import { AT, ipOf, KERNEL_HIGH_WORD, readRegisters, tickRegisters, timeOf } from "./tick-registers.ts";
import type { ProgramBegan } from "./tick-rows.ts";

export interface NearTicks {
  /** Gives the addresses near each tick, each line once. */
  read(rows: BlockRows, add: (pid: number, address: number) => void): void;
  /** Ticks so far of which an address is known. */
  located(): number;
}

const WORD = 2 ** 32;

/** 8 bytes of the memory of a process; null where they cannot be read. */
export type ReadWord = (pid: number, address: bigint) => Uint8Array | null;

export function createNearTicks(near: NearFinder, began: ProgramBegan, readWord: ReadWord): NearTicks {
  const slots = new Uint32Array(2 * MOST_SLOTS);
  const registers = { ...tickRegisters(), words: slots };
  const lines = new Set<number>();
  let located = 0;

  function load(pid: number, low: number, high: number, slot: number): boolean {
    if (high >= KERNEL_HIGH_WORD) return false;
    const bytes = readWord(pid, (BigInt(high) << 32n) | BigInt(low));
    if (bytes === null) return false;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    slots[2 * slot] = view.getUint32(0, true);
    slots[2 * slot + 1] = view.getUint32(4, true);
    return true;
  }

  function locate(pid: number, words: Uint32Array, base: number, row: number): void {
    const program = near.find(pid, ipOf(words, base, row));
    if (program === null) return;
    readRegisters(registers, words, base, row);
    const unknown = runProgram(program, slots, (low, high, slot) => load(pid, low, high, slot));
    for (const slot of program.addresses) {
      if (unknown.has(slot)) continue;
      const low = slots[2 * slot] as number;
      const high = slots[2 * slot + 1] as number;
      if (high < KERNEL_HIGH_WORD) lines.add(Math.floor((high * WORD + low) / LINE_BYTES));
    }
  }

  return {
    located: () => located,
    read({ bytes, pieces, begin_bytes, from, to: end }, add) {
      const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
      for (let piece = 0; piece < pieces; piece++) {
        const base = (begin_bytes[piece] as number) / 4;
        for (let row = from[piece] as number; row < (end[piece] as number); row++) {
          const pid = words[base + AT.pid + row] as number;
          const since = began(pid);
          if (since !== undefined && timeOf(words, base, row) < since) continue;
          locate(pid, words, base, row);
          if (lines.size > 0) located += 1;
          for (const line of lines) add(pid, line * LINE_BYTES);
          lines.clear();
        }
      }
    },
  };
}
