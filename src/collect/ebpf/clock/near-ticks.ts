/** Where the program was at each tick: the addresses that the code around it accesses. */
import { effectiveAddress } from "../../../code/effective-address.ts";
import type { NearFinder } from "../../../code/near-finder.ts";
import type { BlockRows } from "../../../columnar/blocks.ts";
import { LINE_BYTES } from "./hot-blocks.ts";
import { AT, ipOf, KERNEL_HIGH_WORD, readRegisters, tickRegisters, timeOf } from "./tick-registers.ts";
import type { ProgramBegan } from "./tick-rows.ts";

export interface NearTicks {
  /** Gives the address of each operand near each tick. */
  read(rows: BlockRows, add: (pid: number, address: number) => void): void;
  /** Ticks so far of which an address is known. */
  located(): number;
}

const WORD = 2 ** 32;

export function createNearTicks(near: NearFinder, began: ProgramBegan): NearTicks {
  const registers = tickRegisters();
  const address = new Uint32Array(2);
  const lines = new Set<number>();
  let located = 0;

  function locate(pid: number, words: Uint32Array, base: number, row: number): void {
    const operands = near.find(pid, ipOf(words, base, row));
    if (operands.length === 0) return;
    readRegisters(registers, words, base, row);
    for (const operand of operands) {
      if (!effectiveAddress(operand, registers, address)) continue;
      const [low = 0, high = 0] = address;
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
