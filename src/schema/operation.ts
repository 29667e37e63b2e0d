/** The codes that stand for the operation of an access. */
import { codesOf } from "./row.ts";

/** The code of each word of the column op_type. */
export const OP = codesOf("access", "op_type");

/** Code of a word of the column op_type; what is no such word is unknown. */
export function opOf(word: string): number {
  return Object.hasOwn(OP, word) ? OP[word as keyof typeof OP] : OP.unknown;
}
