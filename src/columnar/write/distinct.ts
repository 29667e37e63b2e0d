/** Numbers of a column as codes into the few distinct ones that it has; repeated numbers then cost a few bits each. */

/** With more distinct numbers than these a dictionary is not tried to its end. */
const MOST_DISTINCT = 1 << 13;
const SLOTS = 1 << 15;

export interface Distinct {
  /** Code of each row, in order of first appearance. */
  readonly codes: Uint32Array;
  /** Row at which each code first appeared. */
  readonly firstRow: Uint32Array;
  readonly count: number;
}

const slots = new Uint32Array(SLOTS);
const lows = new Uint32Array(MOST_DISTINCT);
const highs = new Uint32Array(MOST_DISTINCT);
const firsts = new Uint32Array(MOST_DISTINCT);

/** How many numbers from the first on are each greater than the one before: as many are distinct. */
function ascending(words: Uint32Array, rows: number, wide: boolean): number {
  const step = wide ? 2 : 1;
  let row = 1;
  for (; row < rows; row++) {
    const word = row * step;
    const high = wide ? (words[word + 1] as number) - (words[word - 1] as number) : 0;
    if (high < 0 || (high === 0 && (words[word] as number) <= (words[word - step] as number))) break;
  }
  return row;
}

/**
 * Codes of the numbers, or null where there are too many distinct ones.
 * @param words 32-bit numbers, or pairs of words where `wide`
 * @param codes room for `rows` codes
 */
export function distinctNumbers(words: Uint32Array, rows: number, wide: boolean, codes: Uint32Array): Distinct | null {
  const most = Math.min(MOST_DISTINCT, Math.max(16, rows >> 2));
  // Times are, and need not be hashed to be told from repeated numbers.
  if (ascending(words, Math.min(rows, most + 1), wide) > most) return null;
  slots.fill(0);
  let count = 0;
  let beforeLow = -1;
  let beforeHigh = -1;
  let code = 0;
  for (let row = 0; row < rows; row++) {
    const low = (wide ? words[2 * row] : words[row]) as number;
    const high = wide ? (words[2 * row + 1] as number) : 0;
    if (low !== beforeLow || high !== beforeHigh) {
      beforeLow = low;
      beforeHigh = high;
      const mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b);
      let slot = (mixed ^ (mixed >>> 15)) & (SLOTS - 1);
      for (;;) {
        const entry = slots[slot] as number;
        if (entry === 0) {
          if (count === most) return null;
          lows[count] = low;
          highs[count] = high;
          firsts[count] = row;
          code = count++;
          slots[slot] = count;
          break;
        }
        if (lows[entry - 1] === low && highs[entry - 1] === high) {
          code = entry - 1;
          break;
        }
        slot = (slot + 1) & (SLOTS - 1);
      }
    }
    codes[row] = code;
  }
  return { codes, firstRow: firsts.subarray(0, count), count };
}

/** True where all numbers are the same, by their bytes: most columns of most row groups are so. */
export function isConstant(numbers: Uint8Array, width: number): boolean {
  return Buffer.compare(numbers.subarray(width), numbers.subarray(0, -width)) === 0;
}
