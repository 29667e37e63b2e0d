/** The registers of an interrupted thread, as far as addresses need them. */
import { REGISTERS } from "../schema/ring-tables.ts";

/** Places of registers that are not general ones; those have the number that instructions give them, 0 to 15. */
export const PLACE = { rip: 16, fs_base: 17, gs_base: 18 } as const;
export const PLACES = 19;

export interface RegisterFile {
  /** Value of the register at place p in words 2p (low) and 2p + 1 (high). */
  readonly words: Uint32Array;
  /** Bit p is set where the register at place p is known. */
  known: number;
}

export function registerFile(): RegisterFile {
  return { words: new Uint32Array(2 * PLACES), known: 0 };
}

/** Place of each general register by its name. */
export const GENERAL_PLACES = Object.fromEntries(REGISTERS.map((name, place) => [name, place])) as Readonly<
  Record<(typeof REGISTERS)[number], number>
>;
