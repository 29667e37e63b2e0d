/** A seeded simulation of stores whose write epochs are known, and of an event that samples every n-th of them. */
import type { Random } from "../../src/statistics/prng.ts";

/** Stores of 8 bytes one after the other, over bytes one after the other. */
export interface Burst {
  readonly addr: number;
  readonly size_bytes: number;
  readonly begin_ns: number;
  readonly store_ns: number;
}

export interface StoreSample {
  readonly addr: number;
  readonly time_ns: number;
}

const WORD_BYTES = 8;

/**
 * Every n-th store, n drawn anew within a tenth of `period` about once in a hundred samples. The stores that the program
 * makes elsewhere between two bursts are some ten periods.
 * @param bursts in order of time, none inside another
 * @param mingled stores elsewhere lie between those of a burst, too: a sample is then as likely at each of them
 */
export function sampleStores(bursts: readonly Burst[], period: number, random: Random, mingled = false): StoreSample[] {
  const out: StoreSample[] = [];
  const drawn = (): number => {
    const most = mingled ? -Math.log(1 - random()) : 0.9 + 0.2 * random();
    return Math.max(1, Math.round(period * most));
  };
  let step = drawn();
  let next = Math.floor(random() * step);
  for (const { addr, size_bytes, begin_ns, store_ns } of bursts) {
    const stores = size_bytes / WORD_BYTES;
    for (; next < stores; next += step) {
      out.push({ addr: addr + next * WORD_BYTES, time_ns: Math.round(begin_ns + next * store_ns) });
      if (mingled || random() < 0.01) step = drawn();
    }
    if (mingled) next = drawn();
    else {
      const elsewhere = Math.floor(random() * 20 * period);
      next = (next - stores - elsewhere) % step;
      if (next < 0) next += step;
    }
  }
  return out;
}

/** Of the blocks of a grain that are written, the share with one run of stores, each closer than `gap_ns` to the one before. */
export function trueWriteOnce(bursts: readonly Burst[], grain: number, gapNs: number): number {
  const blocks = new Map<number, { epochs: number; last_ns: number }>();
  for (const { addr, size_bytes, begin_ns, store_ns } of bursts) {
    const end = addr + size_bytes;
    for (let at = addr; at < end; at = (Math.floor(at / grain) + 1) * grain) {
      const upTo = Math.min(end, (Math.floor(at / grain) + 1) * grain);
      const first = begin_ns + ((at - addr) / WORD_BYTES) * store_ns;
      const last = begin_ns + ((upTo - addr) / WORD_BYTES - 1) * store_ns;
      const key = Math.floor(at / grain);
      const known = blocks.get(key) ?? { epochs: 0, last_ns: Number.NEGATIVE_INFINITY };
      if (first - known.last_ns >= gapNs) known.epochs += 1;
      if (store_ns >= gapNs) known.epochs += (upTo - at) / WORD_BYTES - 1;
      known.last_ns = last;
      blocks.set(key, known);
    }
  }
  let once = 0;
  for (const { epochs } of blocks.values()) if (epochs === 1) once += 1;
  return once / blocks.size;
}
