/** How densely watches began over the run: less so late, as long ones hold registers, and as deep ones take longer turns. */
import type { WatchSample } from "../input/input.ts";
import type { LawAt } from "./dwell-laws.ts";

/** Watches of one piece of the run: fewer tell its density badly. */
export const LEAST_PER_PIECE = 24;
const MOST_PIECES = 64;
/** A watch of a piece that was hardly looked at stands for no more than so many others: it would carry all. */
export const MOST_RARE = 2;

/** No pause between two beginnings is time of a law beyond so many times the usual one: nothing was looked at meanwhile. */
const TIMES_USUAL = 20;

/**
 * What a watch that began at a moment stands for, as the mean density over that around the moment: work that changes over the
 * run would else count more where watches were denser. Where several laws gave them their times, those of each stand for the time in which it held:
 * the longer watches take, the fewer begin.
 * @param watches of all classes, so that a class that lives for a while is not taken for one that was seldom looked at
 */
export function rarityOver(watches: readonly WatchSample[], lawAt: LawAt = () => 0): (begin_ns: number) => number {
  const byPiece = rarityByPiece(watches);
  const begins = Float64Array.from(watches, ({ begin_ns }) => begin_ns).sort();
  const laws = Uint32Array.from(begins, lawAt);
  if (laws.every((law) => law === laws[0])) return byPiece;
  const pauses = begins.map((begin, i) => ((begins[i + 1] ?? begin) - (begins[i - 1] ?? begin)) / 2);
  const usual = pauses.toSorted()[pauses.length >> 1] ?? 0;
  const time: number[] = [];
  const stand: number[] = [];
  begins.forEach((begin, i) => {
    const law = laws[i] ?? 0;
    time[law] = (time[law] ?? 0) + Math.min(pauses[i] ?? 0, TIMES_USUAL * usual);
    stand[law] = (stand[law] ?? 0) + byPiece(begin);
  });
  const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, x) => sum + x, 0);
  const usually = sumOf(time) / sumOf(stand);
  return (begin_ns) => {
    const law = lawAt(begin_ns);
    return (byPiece(begin_ns) * (time[law] ?? 0)) / (stand[law] ?? 1) / usually;
  };
}

function rarityByPiece(watches: readonly WatchSample[]): (begin_ns: number) => number {
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
