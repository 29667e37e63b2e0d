/** Where samples fell lately, by page: a part of memory from which watches are drawn separately. */
import type { DrawRegion } from "../watch/draw.ts";
import { sampledStratum } from "../watch/stratum.ts";

const PAGE_BYTES = 4096;
/** Pages seen in this span and the one before it are hot. */
const SPAN_NS = 2_000_000_000n;
/** Pages of a span that are remembered: 8 MiB, so that a list of regions stays short. */
const MOST_PAGES = 2048;

export interface Heat {
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
    pagesOf(pid) {
      return [...new Set([...(before.get(pid) ?? []), ...(now.get(pid) ?? [])])].sort((a, b) => a - b);
    },
  };
}

/** Index of the first page that is not below `page`. */
function firstFrom(pages: readonly number[], page: number): number {
  let low = 0;
  let high = pages.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pages[middle] ?? 0) < page) low = middle + 1;
    else high = middle;
  }
  return low;
}

function split(region: DrawRegion, pages: readonly number[]): DrawRegion[] {
  const begin = Number(region.addr);
  const end = begin + region.size_bytes;
  const out: DrawRegion[] = [];
  const part = (from: number, stop: number, hot: boolean) => {
    if (stop <= from) return;
    const stratum = hot ? sampledStratum(region.stratum) : region.stratum;
    out.push({ ...region, addr: region.addr + BigInt(from - begin), size_bytes: stop - from, stratum });
  };
  let next = begin;
  for (let i = firstFrom(pages, Math.floor(begin / PAGE_BYTES)); i < pages.length; i++) {
    const first = (pages[i] ?? 0) * PAGE_BYTES;
    if (first >= end) break;
    part(next, Math.max(next, first), false);
    next = Math.max(next, first);
    const last = Math.min(end, first + PAGE_BYTES);
    part(next, last, true);
    next = last;
  }
  part(next, end, false);
  return out;
}

/**
 * The same bytes, with the hot ones in a stratum of their own: it has turns of its own, so samples choose what is
 * watched, while every word of either part stays as likely as its neighbours and weights back by the part's bytes.
 */
export function splitByHeat(regions: readonly DrawRegion[], heat: Heat): DrawRegion[] {
  const pages = new Map<number, readonly number[]>();
  return regions.flatMap((region) => {
    let hotPages = pages.get(region.pid);
    if (hotPages === undefined) {
      hotPages = heat.pagesOf(region.pid);
      pages.set(region.pid, hotPages);
    }
    return hotPages.length === 0 ? [region] : split(region, hotPages);
  });
}
