/** Programs of 32 bits on a kernel of 64: their system calls come to no tracepoint of ours. */
import { readFileSync } from "node:fs";

/**
 * True where a process runs such a program. Its auxiliary vector tells (fs/binfmt_elf.c): of 64 bits the type of an entry
 * fills eight bytes and is small, of 32 bits the value stands in the upper four.
 */
export function runs32Bit(pid: number): boolean {
  try {
    const bytes = readFileSync(`/proc/${pid}/auxv`);
    return bytes.length >= 8 && bytes.readUInt32LE(4) !== 0;
  } catch {
    // It is gone: nothing more will be missed of it.
    return false;
  }
}
