/** Watches so few that bytes unlike all that were drawn may be many enough to carry most of what is counted. */
import { isNamed } from "../../schema/words.ts";
import { clopperPearson, effectiveSize } from "../../statistics/clopper-pearson.ts";
import { CI_LEVEL } from "../../statistics/interval.ts";
import type { WatchSet } from "../input/watch-set.ts";

/** A larger share of the bytes than this may have most of the passes, and what all others do says nothing of it. */
const MOST_UNDRAWN_BYTES = 0.04;

/**
 * True where an engine tells both steps and the tensors in which next to all of the bytes lie: the bytes of a tensor are used alike, and those that
 * more tensors use are drawn more often. Steps alone tell nothing of bytes.
 */
export function isOfTensors({ span, regions: { all, rows } }: WatchSet): boolean {
  if (span.steps.kind.length === 0) return false;
  let bytes = 0;
  let others = 0;
  for (const row of rows) {
    const size = (all.end[row] ?? 0) - (all.begin[row] ?? 0);
    bytes += size;
    if (!isNamed(all.facts[all.what[row] ?? 0]?.evidence ?? "mapping")) others += size;
  }
  return bytes > 0 && others <= MOST_UNDRAWN_BYTES * bytes;
}

/**
 * Why watches are too few for what is told over passes; null where they are enough. Of bytes of a kind that none was drawn of there may be as many
 * as Clopper and Pearson's upper end of none of them (91 watches that count alike: 4 %), and these may be used far more often than all others: no spread
 * of those that were drawn tells of it. What counts each byte once, as the working set does, needs no such rule.
 */
export function tooFewWatches(set: WatchSet): string | null {
  // Bytes that more tensors use are drawn more often, so that draws that stand for unlike bytes are no lack.
  return isOfTensors(set) ? tooFew(set.exposures.length) : tooFewAlike(set);
}

/** The same of what needs no more than the steps and tensors of an engine, where they are known. */
export const tooFewOfUnnamed = (set: WatchSet): string | null => (isOfTensors(set) ? null : tooFewAlike(set));

const tooFewAlike = ({ weights }: WatchSet): string | null => tooFew(effectiveSize(weights.bytes));

function tooFew(size: number): string | null {
  const share = clopperPearson(0, size, CI_LEVEL).hi ?? 1;
  if (share <= MOST_UNDRAWN_BYTES) return null;
  return `by as few as ${Math.round(size)} watches up to ${(100 * share).toPrecision(2)} % of the bytes may be busier ones of which none was drawn`;
}
