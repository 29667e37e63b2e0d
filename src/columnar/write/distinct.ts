/** Numbers of a column as codes into the few distinct ones that it has; repeated numbers then cost a few bits each. */

/** With more distinct numbers than these a dictionary is not tried to its end. */
const MOST_DISTINCT = 1 << 13;
const SLOTS = 1 << 15;

export interface Distinct {
  /** Code of each row, in order of first appearance; not filled where there is one code. */
  readonly codes: Uint32Array;
  /** Row at which each code first appeared. */
  readonly firstRow: Uint32Array;
  readonly count: number;
}

const slots = new Uint32Array(SLOTS);
const lows = new Uint32Array(MOST_DISTINCT);
const highs = new Uint32Array(MOST_DISTINCT);
const firsts = new Uint32Array(MOST_DISTINCT);

/**
 * Codes of the numbers, or null where there are too many distinct ones.
 * @param words 32-bit numbers, or pairs of words where `wide`
 * @param codes room for `rows` codes
 */
export function distinctNumbers(words: Uint32Array, rows: number, wide: boolean, codes: Uint32Array): Distinct | null {
  if (rows > 0 && isConstant(words, rows, wide)) {
    firsts[0] = 0;
    return { codes, firstRow: firsts.subarray(0, 1), count: 1 };
  }
  const most = Math.min(MOST_DISTINCT, Math.max(16, rows >> 2));
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

/** Most columns of most row groups have one number: it is cheaper to look than to note a code for every row. */
function isConstant(words: Uint32Array, rows: number, wide: boolean): boolean {
  const stride = wide ? 2 : 1;
  for (let i = stride; i < stride * rows; i++) if (words[i] !== words[i - stride]) return false;
  return true;
}
