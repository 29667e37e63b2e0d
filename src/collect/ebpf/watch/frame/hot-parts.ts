/** Parts of memory that are used more than the rest of their stratum: watches are drawn from them separately. */
import { sampledStratum } from "../../../../regions/sampled-stratum.ts";
import type { DrawRegion } from "../draw.ts";

/** Addresses of a process from `begin` to `end`, which are exact. */
export interface HotPart {
  readonly begin: number;
  readonly end: number;
}

/** What knows which parts are hot. */
export interface HotParts {
  /**
   * The same bytes, with the hot ones in a stratum of their own: it has turns of its own, so samples choose what is
   * watched, while every word of either part stays as likely as its neighbours and weights back by the part's bytes.
   */
  split(regions: readonly DrawRegion[]): readonly DrawRegion[];
}

/** Index of the first part that ends behind an address. */
function firstBehind(parts: readonly HotPart[], address: number): number {
  let low = 0;
  let high = parts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((parts[middle]?.end ?? 0) <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * A region in pieces, those in hot parts in the stratum of these.
 * @param parts of its process, in order, none over another
 * @param part_of_turns what the hot stratum has of the turns of both; turns of its own unless told
 */
export function splitAt(region: DrawRegion, parts: readonly HotPart[], part_of_turns?: number): DrawRegion[] {
  const begin = Number(region.addr);
  const end = begin + region.size_bytes;
  const first = firstBehind(parts, begin);
  if ((parts[first]?.begin ?? end) >= end) return [region];
  const out: DrawRegion[] = [];
  const piece = (from: number, stop: number, hot: boolean): void => {
    if (stop <= from) return;
    const part = { ...region, addr: region.addr + BigInt(from - begin), size_bytes: stop - from };
    if (!hot) out.push(part);
    else
      out.push({
        ...part,
        stratum: sampledStratum(region.stratum),
        ...(part_of_turns === undefined ? {} : { part_of_turns }),
      });
  };
  let next = begin;
  for (let i = first; i < parts.length; i++) {
    const part = parts[i];
    if (part === undefined || part.begin >= end) break;
    piece(next, Math.max(next, part.begin), false);
    next = Math.max(next, part.begin);
    const stop = Math.min(end, part.end);
    piece(next, stop, true);
    next = Math.max(next, stop);
  }
  piece(next, end, false);
  return out;
}
