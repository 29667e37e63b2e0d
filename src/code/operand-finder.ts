/** Finds what memory the instruction at a place of a running process's code accesses; each place of a file is decoded once. */
import type { CodeMap } from "./code-bytes.ts";
import { type FoundOperand, LONGEST_INSTRUCTION_BYTES, operandAt } from "./memory-operand.ts";

/** Bytes of a process's memory; null where they cannot be read. */
export type ReadMemory = (pid: number, address: bigint, length: number) => Uint8Array | null;

export interface OperandFinder {
  /** @param ip exact below 2^53; null where the code there cannot be had */
  find(pid: number, ip: number): FoundOperand | null;
  /** Drops what was found for a process whose code changed. */
  forget(pid: number): void;
}

/** Places of code that are no exact numbers, or the kernel's. */
const CODE_LIMIT = 2 ** 53;
const PAGE_BYTES = 4096;
/** A process whose code is made anew without end does not fill the memory. */
const MOST_PLACES = 1 << 16;

/** @param read for code that no file holds: made while the program runs, or the kernel's vdso; null where it is too late */
export function createOperandFinder(code: Pick<CodeMap, "locate">, read: ReadMemory | null): OperandFinder {
  const cache = new Map<number, Map<number, FoundOperand>>();

  function fromMemory(pid: number, ip: number): FoundOperand | null {
    const left = PAGE_BYTES - (ip % PAGE_BYTES);
    const ipAddress = BigInt(ip);
    const bytes =
      read?.(pid, ipAddress, LONGEST_INSTRUCTION_BYTES) ??
      (left < LONGEST_INSTRUCTION_BYTES ? (read?.(pid, ipAddress, left) ?? null) : null);
    // It may be other code the next time: nothing is kept.
    return bytes === null ? null : operandAt(bytes);
  }

  function look(pid: number, ip: number, places: Map<number, FoundOperand>): FoundOperand | null {
    const place = code.locate(pid, ip);
    const offset = place?.object.elf.fileOffset(place.vaddr) ?? null;
    if (place === null || offset === null) return fromMemory(pid, ip);
    const found = operandAt(place.object.bytes.slice(offset, LONGEST_INSTRUCTION_BYTES));
    if (places.size >= MOST_PLACES) places.clear();
    places.set(ip, found);
    return found;
  }

  return {
    find(pid, ip) {
      if (ip >= CODE_LIMIT) return null;
      let places = cache.get(pid);
      if (places === undefined) {
        places = new Map();
        cache.set(pid, places);
      }
      return places.get(ip) ?? look(pid, ip, places);
    },
    forget(pid) {
      cache.delete(pid);
    },
  };
}
