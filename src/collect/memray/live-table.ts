/** Allocations that are alive, by address: an open-addressing index over entries of ten words each. */

/** Entries at most: 40 MiB of them and 8 MiB of index. */
export const MAX_LIVE = 1 << 20;
const FIRST_ENTRIES = 1 << 12;
const STRIDE = 10;
const TWO_32 = 2 ** 32;

/** One allocation as it was born. */
export interface Born {
  address: number;
  size: number;
  /** Index of ALLOCATORS. */
  allocator: number;
  thread: number;
  stack: number;
  native: number;
  /** Interval between memory records in which it was born. */
  interval: number;
  /** Number of the record in the file, from 0. */
  order: number;
}

export interface LiveTable {
  readonly count: number;
  /** Keeps an allocation; false where the table is full. Its address must not be in the table. */
  add(born: Born): boolean;
  /** Takes an allocation out and copies it to `into`; false where the address is unknown. */
  remove(address: number, into: Born): boolean;
  /** Copies one entry after the other to `into`; false after the last. The table must not change meanwhile. */
  next(into: Born): boolean;
  /** Halves the number of every interval, when every second one was given up. */
  halveIntervals(): void;
}

/** A place for one allocation. */
export function emptyBorn(): Born {
  return { address: 0, size: 0, allocator: 0, thread: 0, stack: 0, native: 0, interval: 0, order: 0 };
}

/** Twice as many slots as entries or more; a power of two, so that a mask can wrap around. */
function slotsFor(entries: number): number {
  return 2 ** Math.ceil(Math.log2(2 * entries));
}

/** An empty table of at most `most` entries. */
export function openLiveTable(most = MAX_LIVE): LiveTable {
  let capacity = Math.min(FIRST_ENTRIES, most);
  let words = new Uint32Array(capacity * STRIDE);
  /** Entry + 1 at the slot of its address; 0 is empty. */
  let slots = new Uint32Array(slotsFor(capacity));
  let mask = slots.length - 1;
  let shift = Math.clz32(mask);
  let count = 0;
  /** Entries ever used; those given back are chained through their first word. */
  let used = 0;
  let spare = 0;
  let visited = 0;

  const home = (low: number, high: number): number => {
    // The upper bits of the product depend on all bits of the address; its lower ones repeat with its alignment.
    return Math.imul((low >>> 3) ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1) >>> shift;
  };

  function grow(): void {
    capacity *= 2;
    const wider = new Uint32Array(capacity * STRIDE);
    wider.set(words);
    const old = slots;
    words = wider;
    slots = new Uint32Array(slotsFor(capacity));
    mask = slots.length - 1;
    shift = Math.clz32(mask);
    for (const entry of old) {
      if (entry === 0) continue;
      const offset = (entry - 1) * STRIDE;
      let slot = home(words[offset] ?? 0, words[offset + 1] ?? 0);
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry;
    }
  }

  /** Empties a slot and moves up those behind it that would no longer be found. */
  function vacate(hole: number): void {
    let slot = hole;
    for (;;) {
      slot = (slot + 1) & mask;
      const entry = slots[slot] ?? 0;
      if (entry === 0) break;
      const word = (entry - 1) * STRIDE;
      const wanted = home(words[word] ?? 0, words[word + 1] ?? 0);
      if (((slot - wanted) & mask) < ((slot - hole) & mask)) continue;
      slots[hole] = entry;
      hole = slot;
    }
    slots[hole] = 0;
  }

  function copy(row: number, into: Born): void {
    into.address = (words[row] ?? 0) + (words[row + 1] ?? 0) * TWO_32;
    into.size = (words[row + 2] ?? 0) + (words[row + 3] ?? 0) * TWO_32;
    into.thread = words[row + 4] ?? 0;
    into.stack = words[row + 5] ?? 0;
    into.native = words[row + 6] ?? 0;
    into.interval = words[row + 7] ?? 0;
    const high = words[row + 9] ?? 0;
    into.order = (words[row + 8] ?? 0) + (high & 0xffffff) * TWO_32;
    into.allocator = high >>> 24;
  }

  return {
    get count() {
      return count;
    },
    add(born) {
      if (count === most) return false;
      if (spare === 0 && used === capacity) grow();
      let entry = spare;
      if (entry === 0) {
        used += 1;
        entry = used;
      } else {
        spare = words[(entry - 1) * STRIDE] ?? 0;
      }
      const offset = (entry - 1) * STRIDE;
      const high = Math.floor(born.address / TWO_32);
      const low = born.address - high * TWO_32;
      words[offset] = low;
      words[offset + 1] = high;
      const sizeHigh = Math.floor(born.size / TWO_32);
      words[offset + 2] = born.size - sizeHigh * TWO_32;
      words[offset + 3] = sizeHigh;
      words[offset + 4] = born.thread;
      words[offset + 5] = born.stack;
      words[offset + 6] = born.native;
      words[offset + 7] = born.interval;
      const orderHigh = Math.floor(born.order / TWO_32);
      words[offset + 8] = born.order - orderHigh * TWO_32;
      words[offset + 9] = (orderHigh & 0xffffff) | (born.allocator << 24);
      let slot = home(low >>> 0, high);
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry;
      count += 1;
      return true;
    },
    remove(address, into) {
      const high = Math.floor(address / TWO_32);
      const low = address - high * TWO_32;
      let slot = home(low >>> 0, high);
      for (;;) {
        const entry = slots[slot] ?? 0;
        if (entry === 0) return false;
        const word = (entry - 1) * STRIDE;
        if (words[word] === low && words[word + 1] === high) {
          copy(word, into);
          vacate(slot);
          words[word] = spare;
          spare = entry;
          count -= 1;
          return true;
        }
        slot = (slot + 1) & mask;
      }
    },
    next(into) {
      while (visited < slots.length) {
        const entry = slots[visited] ?? 0;
        visited += 1;
        if (entry === 0) continue;
        copy((entry - 1) * STRIDE, into);
        return true;
      }
      return false;
    },
    halveIntervals() {
      for (const entry of slots) {
        const offset = (entry - 1) * STRIDE + 7;
        if (entry !== 0) words[offset] = (words[offset] ?? 0) >>> 1;
      }
    },
  };
}
