/** Distinct instructions of all processes, numbered as they are first met. */

const FIRST_SLOTS = 1 << 12;

export interface CodeTable {
  /** Number of the instruction, from 0; a new one is named at once. */
  find(pid: number, low: number, high: number, time_ns: number): number;
}

/** @param add is told of each new instruction, whose number is that of the calls before */
export function codeTable(add: (pid: number, ip: bigint, time_ns: number) => void): CodeTable {
  let slots = new Uint32Array(FIRST_SLOTS);
  let pids = new Uint32Array(FIRST_SLOTS >> 1);
  let lows = new Uint32Array(FIRST_SLOTS >> 1);
  let highs = new Uint32Array(FIRST_SLOTS >> 1);
  let count = 0;

  function slotOf(pid: number, low: number, high: number): number {
    const mixed = Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b) ^ Math.imul(pid, 0xc2b2ae35);
    return (mixed ^ (mixed >>> 15)) & (slots.length - 1);
  }

  function grow(): void {
    const double = (from: Uint32Array): Uint32Array<ArrayBuffer> => {
      const to = new Uint32Array(2 * from.length);
      to.set(from);
      return to;
    };
    pids = double(pids);
    lows = double(lows);
    highs = double(highs);
    slots = new Uint32Array(2 * slots.length);
    for (let code = 0; code < count; code++) {
      let slot = slotOf(pids[code] as number, lows[code] as number, highs[code] as number);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      slots[slot] = code + 1;
    }
  }

  return {
    find(pid, low, high, time_ns) {
      let slot = slotOf(pid, low, high);
      for (;;) {
        const entry = slots[slot] as number;
        if (entry === 0) break;
        if (lows[entry - 1] === low && highs[entry - 1] === high && pids[entry - 1] === pid) return entry - 1;
        slot = (slot + 1) & (slots.length - 1);
      }
      if (count === pids.length) grow();
      slot = slotOf(pid, low, high);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      pids[count] = pid;
      lows[count] = low;
      highs[count] = high;
      slots[slot] = ++count;
      add(pid, (BigInt(high) << 32n) | BigInt(low), time_ns);
      return count - 1;
    },
  };
}
