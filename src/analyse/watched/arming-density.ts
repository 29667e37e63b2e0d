/** How densely watches began over the run: less so late, as long ones hold registers, and as deep ones take longer turns. */
import type { WatchSample } from "../input/input.ts";

/** Watches of one piece of the run: fewer tell its density badly. */
export const LEAST_PER_PIECE = 24;
const MOST_PIECES = 64;
/** A watch of a piece that was hardly looked at stands for no more than so many others: it would carry all. */
export const MOST_RARE = 2;

/**
 * What a watch that began at a moment stands for, as the mean density over that around the moment: work that changes over the
 * run would else count more where watches were denser.
 * @param watches of all classes, so that a class that lives for a while is not taken for one that was seldom looked at
 */
export function rarityOver(watches: readonly WatchSample[]): (begin_ns: number) => number {
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const { begin_ns } of watches) {
    first = Math.min(first, begin_ns);
    last = Math.max(last, begin_ns);
  }
  const pieces = Math.min(MOST_PIECES, Math.floor(watches.length / LEAST_PER_PIECE));
  if (pieces < 2 || !(last > first)) return () => 1;
  const counts = new Float64Array(pieces);
  const pieceOf = (begin_ns: number): number =>
    Math.min(pieces - 1, Math.max(0, Math.floor((pieces * (begin_ns - first)) / (last - first))));
  for (const { begin_ns } of watches) {
    const piece = pieceOf(begin_ns);
    counts[piece] = (counts[piece] ?? 0) + 1;
  }
  const mean = watches.length / pieces;
  return (begin_ns) => {
    const rarity = mean / Math.max(1, counts[pieceOf(begin_ns)] ?? 0);
    return Math.min(MOST_RARE, Math.max(1 / MOST_RARE, rarity));
  };
}
