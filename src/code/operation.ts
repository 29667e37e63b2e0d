/** What instructions compute of registers and constants, modulo 2^64, in 32-bit words: no 64-bit value is made per sample. */

export const OPERATION = {
  add: 0,
  subtract: 1,
  multiply: 2,
  and: 3,
  or: 4,
  xor: 5,
  /** By 0 to 63 bits. */
  shiftLeft: 6,
  shiftRight: 7,
  /** With copies of the highest bit. */
  shiftRightSigned: 8,
} as const;
export type Operation = (typeof OPERATION)[keyof typeof OPERATION];

const WORD = 2 ** 32;
const HALF = 2 ** 16;
const MOST_SHIFT = 63;

/** Bits 32 to 63 of the product of two words. */
function highOfProduct(left: number, right: number): number {
  const leftHigh = left >>> 16;
  const rightLow = right & (HALF - 1);
  const rightHigh = right >>> 16;
  const leftLow = left & (HALF - 1);
  const first = leftHigh * rightLow + Math.floor((leftLow * rightLow) / HALF);
  const second = leftLow * rightHigh + (first % HALF);
  return leftHigh * rightHigh + Math.floor(first / HALF) + Math.floor(second / HALF);
}

/**
 * Slot s is the words 2s (low) and 2s + 1 (high).
 * @param into slot of the result
 */
export function operate(operation: Operation, left: number, right: number, into: number, words: Uint32Array): void {
  const a = words[2 * left] as number;
  const aHigh = words[2 * left + 1] as number;
  const b = words[2 * right] as number;
  const bHigh = words[2 * right + 1] as number;
  let low = 0;
  let high = 0;
  switch (operation) {
    case OPERATION.add:
      low = a + b;
      high = aHigh + bHigh + (low >= WORD ? 1 : 0);
      break;
    case OPERATION.subtract:
      low = a - b;
      high = aHigh - bHigh - (low < 0 ? 1 : 0);
      break;
    case OPERATION.multiply:
      low = Math.imul(a, b);
      high = highOfProduct(a, b) + (Math.imul(a, bHigh) >>> 0) + (Math.imul(aHigh, b) >>> 0);
      break;
    case OPERATION.and:
      low = a & b;
      high = aHigh & bHigh;
      break;
    case OPERATION.or:
      low = a | b;
      high = aHigh | bHigh;
      break;
    case OPERATION.xor:
      low = a ^ b;
      high = aHigh ^ bHigh;
      break;
    default: {
      const bits = b & MOST_SHIFT;
      const rest = bits & 31;
      // A word is shifted by 31 bits at most: the other word's part in two steps.
      if (operation === OPERATION.shiftLeft) {
        low = bits < 32 ? a << rest : 0;
        high = bits < 32 ? (aHigh << rest) | ((a >>> 1) >>> (31 - rest)) : a << rest;
      } else {
        const above = operation === OPERATION.shiftRightSigned ? aHigh >> 31 : 0;
        const shifted = operation === OPERATION.shiftRightSigned ? aHigh >> rest : aHigh >>> rest;
        low = bits < 32 ? (a >>> rest) | ((aHigh << 1) << (31 - rest)) : shifted;
        high = bits < 32 ? shifted : above;
      }
    }
  }
  words[2 * into] = low;
  words[2 * into + 1] = high;
}
