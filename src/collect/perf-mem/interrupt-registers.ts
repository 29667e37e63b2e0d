/** The registers of a timer's sample. Order of the bits: enum perf_event_x86_regs of arch/x86/include/uapi/asm/perf_regs.h. */
import { GENERAL_PLACES, PLACE, type RegisterFile } from "../../code/register-file.ts";

/** Place of each register by its bit; -1 for those that no address needs, or that hold a selector only. */
const PLACE_OF = [
  GENERAL_PLACES.ax,
  GENERAL_PLACES.bx,
  GENERAL_PLACES.cx,
  GENERAL_PLACES.dx,
  GENERAL_PLACES.si,
  GENERAL_PLACES.di,
  GENERAL_PLACES.bp,
  GENERAL_PLACES.sp,
  PLACE.rip,
  ...new Array<number>(7).fill(-1),
  GENERAL_PLACES.r8,
  GENERAL_PLACES.r9,
  GENERAL_PLACES.r10,
  GENERAL_PLACES.r11,
  GENERAL_PLACES.r12,
  GENERAL_PLACES.r13,
  GENERAL_PLACES.r14,
  GENERAL_PLACES.r15,
] as const;

/** Names as perf's --intr-regs takes them. */
export const GENERAL_REGISTERS = [...Object.keys(GENERAL_PLACES), "ip"].map((name) => name.toUpperCase());

/**
 * Puts the registers of a sample into a file; those it does not have become unknown.
 * @param words the values in the order of the mask's bits, each as two 32-bit words, low first
 */
export function readRegisters(words: Uint32Array, mask: bigint, into: RegisterFile): void {
  const bits = Number(BigInt.asUintN(32, mask));
  let from = 0;
  into.known = 0;
  for (const [bit, place] of PLACE_OF.entries()) {
    if (((bits >>> bit) & 1) === 0) continue;
    const low = words[from];
    const high = words[from + 1];
    from += 2;
    if (place < 0 || low === undefined || high === undefined) continue;
    into.words[2 * place] = low;
    into.words[2 * place + 1] = high;
    into.known |= 1 << place;
  }
}
