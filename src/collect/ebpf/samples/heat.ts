/** Where samples fell lately, by page: a part of memory from which watches are drawn separately. */
import { type HotPart, type HotParts, splitAt } from "../watch/frame/hot-parts.ts";

const PAGE_BYTES = 4096;
/** Pages seen in this span and the one before it are hot. */
const SPAN_NS = 2_000_000_000n;
/** Pages of a span that are remembered: 8 MiB, so that a list of regions stays short. */
const MOST_PAGES = 2048;

export interface Heat extends HotParts {
  add(pid: number, page: number): void;
  /** Forgets what is two spans old. */
  turn(nowNs: bigint): void;
  /** Numbers of the hot pages of a process, ascending. */
  pagesOf(pid: number): readonly number[];
}

export function createHeat(): Heat {
  let now = new Map<number, Set<number>>();
  let before = new Map<number, Set<number>>();
  let pages = 0;
  let turnedNs: bigint | null = null;

  const pagesOf = (pid: number): readonly number[] =>
    [...new Set([...(before.get(pid) ?? []), ...(now.get(pid) ?? [])])].sort((a, b) => a - b);
  const partsOf = (pid: number): HotPart[] =>
    pagesOf(pid).map((page) => ({ begin: page * PAGE_BYTES, end: (page + 1) * PAGE_BYTES }));

  return {
    add(pid, page) {
      const pagesNow = now.get(pid) ?? new Set();
      if (pagesNow.size === 0) now.set(pid, pagesNow);
      if (pagesNow.has(page) || pages >= MOST_PAGES) return;
      pagesNow.add(page);
      pages += 1;
    },
    turn(nowNs) {
      turnedNs ??= nowNs;
      if (nowNs - turnedNs < SPAN_NS) return;
      turnedNs = nowNs;
      before = now;
      now = new Map();
      pages = 0;
    },
    pagesOf,
    split(regions) {
      const parts = new Map<number, readonly HotPart[]>();
      return regions.flatMap((region) => {
        const hot = parts.get(region.pid) ?? partsOf(region.pid);
        parts.set(region.pid, hot);
        return splitAt(region, hot);
      });
    },
  };
}
