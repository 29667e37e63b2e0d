/** The address of a memory operand, in 32-bit words: no 64-bit value is made per sample. */
import type { AddressRegister, MemoryOperand } from "./memory-operand.ts";
import type { RegisterFile } from "./register-file.ts";

const WORD = 2 ** 32;

function isKnown(place: number, { known: knownPlaces }: RegisterFile): boolean {
  return ((knownPlaces >>> place) & 1) === 1;
}

function lowOf({ place, bits }: AddressRegister, words: Uint32Array): number {
  const low = words[2 * place] as number;
  return bits === 8 ? low & 0xff : low;
}

function highOf({ place, bits }: AddressRegister, words: Uint32Array): number {
  return bits === 64 ? (words[2 * place + 1] as number) : 0;
}

/**
 * Base, scaled index, displacement and segment base, modulo 2^64.
 * @param out the address, low word first; left as it is where a register is not known
 * @returns whether all registers are known
 */
export function effectiveAddress(operand: MemoryOperand, registers: RegisterFile, out: Uint32Array): boolean {
  const { base, index, shift, segment, narrow } = operand;
  const { words } = registers;
  let low = operand.displacementLow;
  let high = operand.displacementHigh;
  if (base !== null) {
    if (!isKnown(base.place, registers)) return false;
    low += lowOf(base, words);
    high += highOf(base, words);
  }
  if (index !== null) {
    if (!isKnown(index.place, registers)) return false;
    const indexLow = lowOf(index, words);
    low += (indexLow << shift) >>> 0;
    high += ((highOf(index, words) << shift) >>> 0) + (shift === 0 ? 0 : indexLow >>> (32 - shift));
  }
  if (narrow) {
    low = low >>> 0;
    high = 0;
  }
  if (segment >= 0) {
    if (!isKnown(segment, registers)) return false;
    low += words[2 * segment] as number;
    high += words[2 * segment + 1] as number;
  }
  out[0] = low;
  out[1] = high + Math.floor(low / WORD);
  return true;
}
