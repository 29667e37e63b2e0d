/** Rows into order of time, rows of one time into order of CPU, and those of one CPU as they were. */
import { radixPass, varyingBits } from "../../columnar/keys/radix-pass.ts";

const DIGIT_BITS = 11;
const DIGITS = 1 << DIGIT_BITS;

/** True where no row comes before the one that it follows. */
function inOrder(times: Uint32Array, cpu: Uint32Array, rows: number): boolean {
  let high = 0;
  let low = 0;
  let on = 0;
  for (let row = 0; row < rows; row++) {
    const nextHigh = times[2 * row + 1] as number;
    const nextLow = times[2 * row] as number;
    const nextOn = cpu[row] as number;
    if (nextHigh < high || (nextHigh === high && (nextLow < low || (nextLow === low && nextOn < on)))) return false;
    high = nextHigh;
    low = nextLow;
    on = nextOn;
  }
  return true;
}

/**
 * The order of the rows, or null where they are in order.
 * A radix sort from the least significant digit: stable, in time linear in the rows.
 * @param times pairs of 32-bit words, low word first
 */
export function timeOrder(times: Uint32Array, cpu: Uint32Array, rows: number): Uint32Array | null {
  if (inOrder(times, cpu, rows)) return null;
  const places = new Uint32Array(DIGITS);
  let from = new Uint32Array(rows);
  let target = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) from[row] = row;
  const keys = [
    [cpu, 1, 0],
    [times, 2, 0],
    [times, 2, 1],
  ] as const;
  for (const [words, stride, offset] of keys) {
    const varying = varyingBits(words, rows, stride, offset);
    for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
      if (((varying >>> shift) & (DIGITS - 1)) === 0) continue;
      radixPass(from, target, { words, stride, offset, shift }, rows, places);
      [from, target] = [target, from];
    }
  }
  return from;
}
