/** How long the regions of a class were kept while we looked: what is there at the end of the look was ended by nothing. */

import { CENSORED, isWholeLife } from "../../label/regions/places.ts";
import type { Lives } from "../../statistics/weighted-lives.ts";
import type { Group } from "../input/group.ts";

/** A region that goes in the last hundredth of the look goes because the work is over. */
const SLACK = 0.01;

/**
 * The life of each region that was born before the look ended, by its bytes. What lives to the end of the span, or ended
 * with the work as a model is freed when its program ends, is not whole: that says how long we looked, not how long it is
 * needed.
 */
export function keptLives({ regions: { all, rows }, span }: Group): Lives {
  const { begin, end, birth_ns, death_ns, censored } = all;
  const until = span.end_ns[span.end_ns.length - 1] ?? 0;
  const last = until - SLACK * span.window_ns;
  // What was moved meanwhile is there again, at its next address.
  const isMoved = (row: number): boolean =>
    ((censored[row] as number) & CENSORED.left) !== 0 && (death_ns[row] as number) < until;
  const seen = rows.filter((row) => (birth_ns[row] as number) < until && !isMoved(row));
  const rowOf = (life: number): number => seen[life] as number;
  return {
    count: seen.length,
    time: (life) => Math.round(Math.min(until, death_ns[rowOf(life)] as number) - (birth_ns[rowOf(life)] as number)),
    isWhole: (life) => isWholeLife(censored[rowOf(life)] as number) && (death_ns[rowOf(life)] as number) < last,
    weight: (life) => (end[rowOf(life)] as number) - (begin[rowOf(life)] as number),
  };
}
