/** Where the columns of a tick lie in a block of the ring, and the registers of one. */
import { GENERAL_PLACES, PLACE, PLACES, type RegisterFile, registerFile } from "../../../code/register-file.ts";
import { TICK_LAYOUT } from "./clock-program.ts";

const WORD = 2 ** 32;
/** Bits 32 and up of an address that no program has. */
export const KERNEL_HIGH_WORD = 0x01000000;

/** First 32-bit word of a column in a block. */
function startOf(name: string): number {
  const column = TICK_LAYOUT.columns.find((one) => one.name === name);
  if (column === undefined) throw new TypeError(`ticks have no ${name}`);
  return column.offset / 4;
}

/** First 32-bit words of columns in a block: two for each row of a column of 64 bits, one of the others. */
export const AT = {
  time: startOf("timestamp_ns"),
  ip: startOf("ip"),
  period: startOf("period"),
  pid: startOf("pid"),
  tid: startOf("tid"),
} as const;
/** Where the register at each place begins. */
const REGISTERS = new Uint32Array(PLACES);
for (const [name, place] of Object.entries({ ...GENERAL_PLACES, ...PLACE })) {
  REGISTERS[place] = startOf(place === PLACE.rip ? "ip" : name);
}

const wide = (words: Uint32Array, from: number): number => (words[from + 1] as number) * WORD + (words[from] as number);

/** When a tick came, ns; exact below 2^53. @param base first word of its block */
export const timeOf = (words: Uint32Array, base: number, row: number): number => wide(words, base + AT.time + 2 * row);
/** The instruction that the thread would have run next. @param base first word of its block */
export const ipOf = (words: Uint32Array, base: number, row: number): number => wide(words, base + AT.ip + 2 * row);

/** A tick has all registers. */
export function tickRegisters(): RegisterFile {
  return { ...registerFile(), known: 2 ** PLACES - 1 };
}

/** Puts the registers of a tick into a file. @param base first word of its block */
export function readRegisters({ words: into }: RegisterFile, words: Uint32Array, base: number, row: number): void {
  for (let place = 0; place < PLACES; place++) {
    const from = base + (REGISTERS[place] as number) + 2 * row;
    into[2 * place] = words[from] as number;
    into[2 * place + 1] = words[from + 1] as number;
  }
}
