/** A 64-bit number as the two words that typed arrays hold of it. */

export interface TwoWords {
  /** From 0 to 2^32 - 1. */
  readonly low: number;
  /** What is above it: negative for a negative number. */
  readonly high: number;
}

export function twoWords(value: bigint): TwoWords {
  return { low: Number(value & 0xffffffffn), high: Number(value >> 32n) };
}
