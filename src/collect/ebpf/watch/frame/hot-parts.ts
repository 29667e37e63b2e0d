/** Parts of memory that are used more than the rest of their stratum: watches are drawn from them separately. */
import { sampledStratum } from "../../../../regions/sampled-stratum.ts";
import { firstIndex } from "../../../../statistics/first-index.ts";
import type { DrawRegion } from "../draw.ts";

/** Addresses of a process from `begin` to `end`, which are exact. */
export interface HotPart {
  readonly begin: number;
  readonly end: number;
}

/** What knows which parts are hot. */
export interface HotParts {
  /**
   * The same bytes, with the hot ones in a stratum that is drawn from separately: samples choose what is
   * watched, while every word of either part stays as likely as its neighbours and weights back by the part's bytes.
   */
  split(regions: readonly DrawRegion[]): readonly DrawRegion[];
}

/**
 * A region in pieces, those in hot parts in the stratum of these.
 * @param parts of its process, in order, none over another
 * @param part_of_turns what the hot stratum has of the turns of both; turns of its own unless told
 */
export function splitAt(region: DrawRegion, parts: readonly HotPart[], part_of_turns?: number): DrawRegion[] {
  const begin = Number(region.addr);
  const end = begin + region.size_bytes;
  const first = firstIndex(parts.length, (i) => (parts[i]?.end ?? 0) <= begin);
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
    const from = Math.max(begin, part.begin);
    piece(next, from, false);
    next = Math.min(end, part.end);
    piece(from, next, true);
  }
  piece(next, end, false);
  return out;
}
