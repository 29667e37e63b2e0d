/** Processes and threads by new numbers, from 1 in the order of the old ones. */

/** No kernel counts further (PID_MAX_LIMIT). */
const LIMIT = 1 << 22;
const WORD_BITS = 32;

export interface ProcessNumbers {
  /** Tells of a number that is used. */
  add(number: number): void;
  /** The new number; 0, which is nobody's, stays. Those that no kernel gives become one above all others. */
  renumbered(number: number): number;
}

function bitsIn(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** A bit for each number that there can be. */
export function processNumbers(): ProcessNumbers {
  const used = new Uint32Array(LIMIT / WORD_BITS);
  let below: Uint32Array | null = null;

  function counts(): Uint32Array {
    const sums = new Uint32Array(used.length);
    let sum = 0;
    for (let i = 0; i < used.length; i++) {
      sums[i] = sum;
      sum += bitsIn(used[i] as number);
    }
    return sums;
  }

  return {
    add(number) {
      if (number <= 0 || number >= LIMIT) return;
      used[number >>> 5] = (used[number >>> 5] as number) | (1 << (number & 31));
      below = null;
    },
    renumbered(number) {
      if (number <= 0) return 0;
      if (number >= LIMIT) return LIMIT;
      below ??= counts();
      const word = used[number >>> 5] as number;
      const bit = number & 31;
      if (((word >>> bit) & 1) === 0) return LIMIT;
      return (below[number >>> 5] as number) + bitsIn(word & (2 ** bit - 1)) + 1;
    },
  };
}
