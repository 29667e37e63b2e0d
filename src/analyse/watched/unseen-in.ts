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
 * @param watches all of the run, of every class
 */
function lostIn(watches: readonly WatchSample[], part: Span): number {
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
 * What a part of a span lacks of a class.
 * @param regions of the class
 * @param watches that tell, of every class
 * @param lost share of the watches of the run that was: of a run that lost none no part did
 */
export function unseenIn(
  input: AnalysisInput,
  regions: RegionSet,
  watches: readonly WatchSample[],
  { lawAt, lost }: { readonly lawAt: LawAt; readonly lost: number },
): UnseenIn {
  return (part) => ({
    unwatched: unwatchedShare(watches, part, input, lawAt),
    young: watches.length > 0 ? youngShare(regions, part, input.draw_lag_ns ?? 0) : 0,
    lost: lost > 0 ? lostIn(input.watches, part) : 0,
  });
}
