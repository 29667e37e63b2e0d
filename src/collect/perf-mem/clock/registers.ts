/** The registers of a timer's sample. Order of the bits: enum perf_event_x86_regs of arch/x86/include/uapi/asm/perf_regs.h. */
import { Register } from "iced-x86";

/** Names as perf's --intr-regs takes them. */
export const GENERAL_REGISTERS = [
  "AX",
  "BX",
  "CX",
  "DX",
  "SI",
  "DI",
  "BP",
  "SP",
  "IP",
  "R8",
  "R9",
  "R10",
  "R11",
  "R12",
  "R13",
  "R14",
  "R15",
] as const;

const BIT_OF: Readonly<Record<number, number>> = {
  [Register.RAX]: 0,
  [Register.RBX]: 1,
  [Register.RCX]: 2,
  [Register.RDX]: 3,
  [Register.RSI]: 4,
  [Register.RDI]: 5,
  [Register.RBP]: 6,
  [Register.RSP]: 7,
  [Register.RIP]: 8,
  [Register.R8]: 16,
  [Register.R9]: 17,
  [Register.R10]: 18,
  [Register.R11]: 19,
  [Register.R12]: 20,
  [Register.R13]: 21,
  [Register.R14]: 22,
  [Register.R15]: 23,
};

/** Value of a 64-bit register; null where the sample does not have it. */
export type Registers = (register: Register) => bigint | null;

/** @param words the values in the order of the mask's bits, each as two 32-bit words, low first */
export function registersOf(words: Uint32Array, mask: bigint): Registers {
  return (register) => {
    const bit = BIT_OF[register];
    if (bit === undefined || ((mask >> BigInt(bit)) & 1n) === 0n) return null;
    let place = 0;
    for (let below = 0; below < bit; below++) if ((mask >> BigInt(below)) & 1n) place += 1;
    const low = words[2 * place];
    const high = words[2 * place + 1];
    return low === undefined || high === undefined ? null : (BigInt(high) << 32n) | BigInt(low);
  };
}
