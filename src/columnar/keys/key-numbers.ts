/** Numbers for distinct keys of three words, in the order in which they are first met. */

const FIRST_KEYS = 1 << 11;
const KEY_WORDS = 3;
/** What `find` says of a new key where there is no room for it. */
export const FULL = -1;

export interface KeyNumbers {
  /** Keys that have a number; a key that gets this one from `find` is new. */
  readonly count: number;
  /** Number of the key, from 0; a new one gets the next, or FULL where there are as many as there may be. */
  find(owner: number, low: number, high: number): number;
  /** Copies the words of all keys, by their number. */
  copyKeys(owner: Uint32Array, low: Uint32Array, high: Uint32Array): void;
}

/**
 * @param most keys that there may be
 */
export function keyNumbers(most = Number.POSITIVE_INFINITY): KeyNumbers {
  let keys = new Uint32Array(KEY_WORDS * FIRST_KEYS);
  // A number is one less than what its slot holds; at most half of the slots are taken.
  let slots = new Uint32Array(2 * FIRST_KEYS);
  let count = 0;

  function slotOf(owner: number, low: number, high: number): number {
    const mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b) ^ Math.imul(owner, 0xc2b2ae35);
    return (mixed ^ (mixed >>> 15)) & (slots.length - 1);
  }

  function freeSlot(owner: number, low: number, high: number): number {
    let slot = slotOf(owner, low, high);
    while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
    return slot;
  }

  function grow(): void {
    const larger = new Uint32Array(2 * keys.length);
    larger.set(keys);
    keys = larger;
    slots = new Uint32Array(2 * slots.length);
    for (let number = 0, word = 0; number < count; number++, word += KEY_WORDS) {
      slots[freeSlot(keys[word] as number, keys[word + 1] as number, keys[word + 2] as number)] = number + 1;
    }
  }

  return {
    get count() {
      return count;
    },
    find(owner, low, high) {
      let slot = slotOf(owner, low, high);
      for (;;) {
        const entry = slots[slot] as number;
        if (entry === 0) break;
        const offset = KEY_WORDS * (entry - 1);
        if (keys[offset + 1] === low && keys[offset + 2] === high && keys[offset] === owner) return entry - 1;
        slot = (slot + 1) & (slots.length - 1);
      }
      if (count >= most) return FULL;
      if (KEY_WORDS * count === keys.length) {
        grow();
        slot = freeSlot(owner, low, high);
      }
      const lastKey = KEY_WORDS * count;
      keys[lastKey] = owner;
      keys[lastKey + 1] = low;
      keys[lastKey + 2] = high;
      slots[slot] = ++count;
      return count - 1;
    },
    copyKeys(owner, low, high) {
      for (let number = 0, word = 0; number < count; number++, word += KEY_WORDS) {
        owner[number] = keys[word] as number;
        low[number] = keys[word + 1] as number;
        high[number] = keys[word + 2] as number;
      }
    },
  };
}
