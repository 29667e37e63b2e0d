/** When the PSS of a process is read: it walks all page tables, and holds the lock of the map meanwhile. */
import { PAGE_BYTES } from "../../kernel/libc.ts";

export interface PssPace {
  /** True where it is time, and the lock would not be held for longer than it may be. */
  isDue(nowNs: bigint, rssBytes: bigint): boolean;
  /** Takes note of a read. */
  read(beginNs: bigint, tookNs: bigint, rssBytes: bigint): void;
}

/** What a page of 4 KiB costs at most until a read says less: 120 to 150 ns were measured, less where pages are huge. */
const PAGE_NS = 200;
/** 200 MB in small pages. A process of 30 GB would wait for its map for a second and more. */
const MOST_HELD_NS = 10e6;
/** Reads take at most 1/SHARE of the time. */
const SHARE = 1000n;

/**
 * @param leastNs least time between two reads
 * @param mostHeldNs longest that the lock may be held for, as far as can be told before
 */
export function createPssPace(leastNs: bigint, mostHeldNs = MOST_HELD_NS): PssPace {
  let nextNs = 0n;
  let byteNs = PAGE_NS / PAGE_BYTES;
  return {
    isDue: (nowNs, rssBytes) => nowNs >= nextNs && Number(rssBytes) * byteNs <= mostHeldNs,
    read(beginNs, tookNs, rssBytes) {
      nextNs = beginNs + (tookNs * SHARE > leastNs ? tookNs * SHARE : leastNs);
      // The least of all: a read that was interrupted takes longer than the lock is held for.
      if (rssBytes > 0n) byteNs = Math.min(byteNs, Number(tookNs) / Number(rssBytes));
    },
  };
}
