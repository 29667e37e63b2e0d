/** Watches so few that bytes unlike all that were drawn may be many enough to carry most of what is counted. */
import { clopperPearson, effectiveSize } from "../../statistics/clopper-pearson.ts";
import { CI_LEVEL } from "../../statistics/interval.ts";
import type { WatchSet } from "../input/group.ts";

/** A larger share of the bytes than this may have most of the passes, and what all others do says nothing of it. */
const MOST_UNDRAWN_BYTES = 0.04;

/**
 * Why watches are too few for what is told over passes; null where they are enough. Of bytes of a kind that none was drawn of there may be as many
 * as Clopper and Pearson's upper end of none of them (91 watches that count alike: 4 %), and these may be used far more often than all others: no spread
 * of those that were drawn tells of it. What counts each byte once, as the working set does, needs no such rule.
 */
export function tooFewWatches({ weights, exposures, span }: WatchSet): string | null {
  // Engines that tell steps tell tensors: bytes that more of these use are drawn more often, so that draws that stand for unlike bytes are no lack.
  const size = span.steps.kind.length > 0 ? exposures.length : effectiveSize(weights.bytes);
  const share = clopperPearson(0, size, CI_LEVEL).hi ?? 1;
  if (share <= MOST_UNDRAWN_BYTES) return null;
  return `by as few as ${Math.round(size)} watches up to ${(100 * share).toPrecision(2)} % of the bytes may be busier ones of which none was drawn`;
}

/** The same of what is counted by time alone: null where steps are known, which most of it is counted in. */
export const tooFewByTime = (set: WatchSet): string | null =>
  set.span.steps.kind.length > 0 ? null : tooFewWatches(set);
