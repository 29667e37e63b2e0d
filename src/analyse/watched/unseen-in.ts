/** What no watch could see in a part of a span: all that is told of the whole may have been in that part, or none of it. */

import type { AnalysisInput, WatchSample } from "../input/input.ts";
import type { RegionSet } from "../input/region-set.ts";
import { isInside, type Span } from "../input/span.ts";
import type { WatchSet } from "../input/watch-set.ts";
import type { LawAt } from "./dwell-laws.ts";
import { unwatchedShare } from "./unwatched.ts";
import { youngShare } from "./young-memory.ts";

/** Shares of a part of a span: as a set of watches has them. */
export type UnseenIn = (part: Span) => Pick<WatchSet, "unwatched" | "young" | "lost">;

/**
 * Share of the watches that were armed in a part of a span and have no row, in [0, 1). They are numbered as they are armed: what is missing
 * between two numbers was armed between them.
 * @param watches all of the run, of every class, those for which there was no memory too
 */
function lostIn(watches: readonly Pick<WatchSample, "watch_id" | "begin_ns">[], part: Span): number {
  let [first, last, count] = [Number.POSITIVE_INFINITY, 0, 0];
  for (const { watch_id, begin_ns } of watches) {
    if (!isInside(part, begin_ns)) continue;
    first = Math.min(first, watch_id);
    last = Math.max(last, watch_id);
    count += 1;
  }
  return count > 0 ? Math.max(0, 1 - count / (last - first + 1)) : 0;
}

/**
 * What all watches of a run lack in parts of it, whatever the class: asked of each part once for every class.
 * @param watches that tell, of every class
 * @param lost share of the watches of the run that was: of a run that lost none no part did
 */
export function unlookedIn(
  input: AnalysisInput,
  watches: readonly WatchSample[],
  { lawAt, lost }: { readonly lawAt: LawAt; readonly lost: number },
): (part: Span) => Pick<WatchSet, "unwatched" | "lost"> {
  const all = [...input.watches, ...(input.left_watches ?? [])];
  const found = new Map<string, Pick<WatchSet, "unwatched" | "lost">>();
  return (part) => {
    const place = `${part.begin_ns.join()}/${part.end_ns.join()}`;
    const one = found.get(place) ?? {
      unwatched: unwatchedShare(watches, part, input, lawAt),
      lost: lost > 0 ? lostIn(all, part) : 0,
    };
    found.set(place, one);
    return one;
  };
}

/**
 * What a part of a span lacks of a class.
 * @param regions of the class
 */
export function unseenIn(
  { draw_lag_ns }: Pick<AnalysisInput, "draw_lag_ns">,
  regions: RegionSet,
  unlooked: ReturnType<typeof unlookedIn>,
): UnseenIn {
  return (part) => ({ ...unlooked(part), young: youngShare(regions, part, draw_lag_ns ?? 0) });
}
