/** How densely watches began over the run: less so late, as long ones hold registers, and as deep ones take longer turns. */
import { firstIndex } from "../../statistics/first-index.ts";
import { mean } from "../../statistics/mean.ts";
import type { WatchSample } from "../input/input.ts";
import { FEWEST_OF_LAW, type LawAt } from "./dwell-laws.ts";
import { lengthOf, outside, type Pieces } from "./passed-over.ts";

/** Watches of one piece of the run: fewer tell its density badly. */
export const LEAST_PER_PIECE = 24;
const MOST_PIECES = 64;
/** Where the pauses between beginnings go on for some watches as they are, as where watches rest while the program copies, these tell the density of as few. */
const FEW_PER_PIECE = 6;
/** So many times as uneven as by chance, and by so many standard errors. */
const UNEVEN = 1.5;
const SURE_Z = 4;
/** A watch of a piece that was hardly looked at stands for no more than so many others: it would carry all. */
export const MOST_RARE = 2;

/** No pause between two beginnings is time of a law beyond so many times the usual one: nothing was looked at meanwhile. */
const TIMES_USUAL = 20;

export const medianOf = (numbers: readonly number[]): number =>
  Float64Array.from(numbers).sort()[numbers.length >> 1] ?? 0;

/**
 * The median of the pauses between beginnings by the law that held; of all of them where few are of it.
 * @param laws of each pause
 */
export function usualByLaw(pauses: readonly number[], laws: Uint32Array): (law: number) => number {
  const all = medianOf(pauses);
  const ofLaw = new Map<number, number>();
  for (const [law, some] of Map.groupBy(pauses.keys(), (i) => laws[i] ?? 0)) {
    if (some.length >= FEWEST_OF_LAW) ofLaw.set(law, medianOf(some.map((i) => pauses[i] ?? 0)));
  }
  return (law) => ofLaw.get(law) ?? all;
}

/**
 * What a watch that began at a moment stands for, as the mean density over that around the moment: work that changes over the
 * run would else count more where watches were denser. Where several laws gave them their times, those of each stand for the time in which it held:
 * the longer watches take, the fewer begin.
 * @param watches of all classes, so that a class that lives for a while is not taken for one that was seldom looked at
 * @param passedOver stretches in which none of them was to begin: these are time of no law
 */
export function rarityOver(
  watches: readonly WatchSample[],
  lawAt: LawAt = () => 0,
  passedOver: Pieces = [],
): (begin_ns: number) => number {
  const begins = Float64Array.from(watches, ({ begin_ns }) => begin_ns).sort();
  const byPiece = rarityByPiece(begins);
  const laws = Uint32Array.from(begins, lawAt);
  if (laws.every((law) => law === laws[0])) return byPiece;
  const between = Array.from(begins.subarray(1), (begin, i) => lengthOf(outside(begins[i] ?? 0, begin, passedOver)));
  const pauses = Array.from(begins, (_, i) => ((between[i - 1] ?? 0) + (between[i] ?? 0)) / 2);
  const usualOf = usualByLaw(pauses, laws);
  const time: number[] = [];
  const stand: number[] = [];
  begins.forEach((begin, i) => {
    const law = laws[i] ?? 0;
    time[law] = (time[law] ?? 0) + Math.min(pauses[i] ?? 0, TIMES_USUAL * usualOf(law));
    stand[law] = (stand[law] ?? 0) + byPiece(begin);
  });
  const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, x) => sum + x, 0);
  const usually = sumOf(time) / sumOf(stand);
  return (begin_ns) => {
    const law = lawAt(begin_ns);
    return (byPiece(begin_ns) * (time[law] ?? 0)) / (stand[law] ?? 1) / usually;
  };
}

function varianceOf(numbers: readonly number[]): number {
  const middle = mean(numbers);
  return mean(numbers.map((x) => (x - middle) ** 2));
}

/** Sums of so many that follow each other. */
const sumsOf = (numbers: readonly number[], each: number): number[] =>
  Array.from({ length: Math.floor(numbers.length / each) }, (_, i) =>
    numbers.slice(i * each, (i + 1) * each).reduce((sum, x) => sum + x, 0),
  );

/**
 * How many watches tell the density of a piece of the run: few, where long pauses follow long ones and short ones short ones more than chance would have it.
 * @param pauses between beginnings, in order of time, ns
 */
export function watchesPerPiece(pauses: readonly number[]): number {
  const sums = sumsOf(pauses, FEW_PER_PIECE);
  const byChance = FEW_PER_PIECE * varianceOf(pauses);
  if (sums.length < 2 || !(byChance > 0)) return LEAST_PER_PIECE;
  const most = Math.max(UNEVEN, 1 + SURE_Z * Math.sqrt(2 / sums.length));
  return varianceOf(sums) > most * byChance ? FEW_PER_PIECE : LEAST_PER_PIECE;
}

/** @param begins ascending */
function rarityByPiece(begins: Float64Array): (begin_ns: number) => number {
  const pauses = Array.from(begins.subarray(1), (begin, i) => begin - (begins[i] ?? begin));
  return watchesPerPiece(pauses) === FEW_PER_PIECE ? rarityByPauses(begins, pauses) : rarityByTime(begins);
}

/** Each few watches by the time that they took to begin. */
function rarityByPauses(begins: Float64Array, pauses: readonly number[]): (begin_ns: number) => number {
  const usual = FEW_PER_PIECE * mean(pauses);
  const rarity = sumsOf(pauses, FEW_PER_PIECE).map((ns) => Math.min(MOST_RARE, Math.max(1 / MOST_RARE, ns / usual)));
  return (begin_ns) => {
    const place = firstIndex(begins.length, (i) => (begins[i] ?? 0) < begin_ns);
    return rarity[Math.min(rarity.length - 1, Math.floor(place / FEW_PER_PIECE))] ?? 1;
  };
}

/** Pieces of equal length by how many watches began in each. */
function rarityByTime(begins: Float64Array): (begin_ns: number) => number {
  const pieces = Math.min(MOST_PIECES, Math.floor(begins.length / LEAST_PER_PIECE));
  const [first = 0, last = 0] = [begins[0], begins.at(-1)];
  if (pieces < 2 || !(last > first)) return () => 1;
  const counts = new Float64Array(pieces);
  const pieceOf = (begin_ns: number): number =>
    Math.min(pieces - 1, Math.max(0, Math.floor((pieces * (begin_ns - first)) / (last - first))));
  for (const begin of begins) {
    const piece = pieceOf(begin);
    counts[piece] = (counts[piece] ?? 0) + 1;
  }
  const mean = begins.length / pieces;
  return (begin_ns) => {
    const rarity = mean / Math.max(1, counts[pieceOf(begin_ns)] ?? 0);
    return Math.min(MOST_RARE, Math.max(1 / MOST_RARE, rarity));
  };
}
