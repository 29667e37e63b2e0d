/** From drawn addresses back to bytes: the weights of the watch design. */
import type { WatchSample } from "../input/input.ts";
import type { Span } from "../input/span.ts";
import { ALWAYS, livedNs, type StratumLife } from "./stratum-life.ts";

/** Strata with fewer draws share one pool when resampled: one address alone shows no variance. */
const FEWEST_PER_STRATUM = 5;

export interface DesignWeights {
  /** Bytes that each draw stands for; their sum is the bytes of all strata drawn. */
  readonly bytes: Float64Array;
  /** Stratum of each draw, for resampling. */
  readonly stratum: Uint32Array;
  /** Sum of `bytes`. */
  readonly total_bytes: number;
}

/** Bytes of the stratum at the draw over its share of the turns then: a draw stands for more where draws were rare. */
function scarcity(
  { inclusion_probability: p, size_bytes, stratum_bytes, draw_weight, begin_ns }: WatchSample,
  rarityAt: (begin_ns: number) => number,
): readonly [bytes: number, rarity: number] {
  const rarity = rarityAt(begin_ns) * (draw_weight > 0 ? 1 / draw_weight : 1);
  return [p > 0 && p <= 1 ? size_bytes / p : stratum_bytes, rarity];
}

/** The stratum of a draw, or the part of it from which its design draws. */
const cellOf = ({ design, stratum }: WatchSample): string =>
  design === "ahead" || design === "cohort" ? `${stratum}\n${design}` : stratum;

/**
 * Draws with replacement inside a stratum: each of m draws stands for size / (m p) bytes (Hansen and Hurwitz, Annals of
 * Mathematical Statistics 14, 1943; the form of Horvitz and Thompson, JASA 47, 1952, for such draws). A stratum that grows, or
 * that gets a smaller share of the turns when others appear, has draws that stand for unlike times: they weigh as the inverse
 * of that share, and of how densely watches began then. Strata get equal turns, so the strata's bytes weight them back. The designs ahead and cohort draw from their
 * own part of a stratum and count as strata of their own. Draws that fell on memory of another class, as it had changed before they began, count
 * among the m: the rest stand for what of the stratum is of the class.
 * @param rarityAt as rarityOver has it; all moments alike unless told
 * @param strays draws of the same strata that fell on another class
 * @param livesAt share of the span in which a stratum has memory: `stratumLives`
 */
export function designWeights(
  watches: readonly WatchSample[],
  rarityAt: (begin_ns: number) => number = () => 1,
  strays: readonly WatchSample[] = [],
  livesAt: (stratum: string) => number = () => 1,
): DesignWeights {
  const index = new Map<string, number>();
  const draws: number[] = [];
  const rarities: number[] = [];
  const terms = watches.map((watch) => {
    const cell = cellOf(watch);
    let i = index.get(cell);
    if (i === undefined) {
      i = draws.length;
      index.set(cell, i);
      draws.push(0);
      rarities.push(0);
    }
    draws[i] = (draws[i] ?? 0) + 1;
    rarities[i] = (rarities[i] ?? 0) + scarcity(watch, rarityAt)[1];
    return i;
  });
  for (const stray of strays) {
    const s = index.get(cellOf(stray));
    if (s !== undefined) rarities[s] = (rarities[s] ?? 0) + scarcity(stray, rarityAt)[1];
  }
  const bytes = new Float64Array(watches.length);
  const stratum = new Uint32Array(watches.length);
  let total = 0;
  watches.forEach((watch, w) => {
    const s = terms[w] ?? 0;
    const [stands, rarity] = scarcity(watch, rarityAt);
    bytes[w] = (livesAt(watch.stratum) * stands * rarity) / (rarities[s] ?? 1);
    total += bytes[w] ?? 0;
    stratum[w] = (draws[s] ?? 1) < FEWEST_PER_STRATUM ? 0 : s + 1;
  });
  return { bytes, stratum, total_bytes: total };
}

/**
 * How much of the time in which a stratum has memory lies nearer to each of some draws than to any other of them, over all of it; the first and the
 * last stand for as much before and behind them as between, as their memory may be there no longer. Draws in order of time.
 */
function nearTo(draws: readonly WatchSample[], span: Span, { pieces }: StratumLife): number[] {
  const beginOf = (i: number): number => draws[i]?.begin_ns ?? 0;
  const last = draws.length - 1;
  const between = draws.slice(1).map(({ begin_ns }, i) => (begin_ns + beginOf(i)) / 2);
  const from = 2 * beginOf(0) - (between[0] ?? beginOf(0));
  const end = 2 * beginOf(last) - (between.at(-1) ?? beginOf(last));
  const ends = [from, ...between, end];
  const near = draws.map((_, i) => livedNs(span, pieces, ends[i] ?? from, ends[i + 1] ?? end));
  const all = near.reduce((sum, ns) => sum + ns, 0);
  return near.map((ns) => (all > 0 ? ns / all : 1 / draws.length));
}

/** The draws of one stratum in order of time. */
interface StratumDraws {
  /** Their numbers. */
  readonly numbers: readonly number[];
  /** Bytes of the stratum at each. */
  readonly stands: readonly number[];
  /** The share of the time for which each stands; one as much as another where draws of the stratum are missing. */
  readonly near: readonly number[];
  /** Bytes that they stand for together. */
  readonly held: number;
  readonly isWhole: boolean;
  /** Standard error of the share of the time in which it has memory, over it. */
  readonly life_error: number;
}

function byStratum(
  draws: readonly WatchSample[],
  bytes: Float64Array,
  span: Span,
  hasAll: (stratum: string) => boolean,
  lives: (stratum: string) => StratumLife,
): StratumDraws[] {
  const cells = Map.groupBy(draws.keys(), (i) => (draws[i] === undefined ? "" : cellOf(draws[i])));
  const beginOf = (i: number): number => draws[i]?.begin_ns ?? 0;
  return [...cells.values()].map((some): StratumDraws => {
    const numbers = some.sort((a, b) => beginOf(a) - beginOf(b));
    const inOrder = numbers.flatMap((i) => draws[i] ?? []);
    const stratum = inOrder[0]?.stratum ?? "";
    const isWhole = hasAll(stratum);
    return {
      numbers,
      stands: inOrder.map((draw) => scarcity(draw, () => 1)[0]),
      near: isWhole ? nearTo(inOrder, span, lives(stratum)) : inOrder.map(() => 1 / inOrder.length),
      held: numbers.reduce((sum, i) => sum + (bytes[i] ?? 0), 0),
      isWhole,
      life_error: lives(stratum).error,
    };
  });
}

/**
 * The same weights with the bytes of each stratum as they are over the time of the span, each draw standing for the time that is nearest to
 * it: how often watches began tells the share of that time worse than the times themselves.
 * @param draws whose weights these are, in the same order
 * @param hasAll whether all draws of a stratum are among them
 * @param lives when each stratum has memory
 */
export function weightsOverTime(
  draws: readonly WatchSample[],
  { bytes, stratum }: DesignWeights,
  span: Span,
  hasAll: (stratum: string) => boolean,
  lives: (stratum: string) => StratumLife = () => ALWAYS,
): DesignWeights {
  const scaled = Float64Array.from(bytes);
  for (const { numbers, stands, near, held, isWhole } of byStratum(draws, bytes, span, hasAll, lives)) {
    if (numbers.length < FEWEST_PER_STRATUM || !isWhole || !(held > 0)) continue;
    const overTime = stands.reduce((sum, x, i) => sum + x * (near[i] ?? 0), 0);
    // What each stands for over its stratum's bytes is how much it weighs.
    const weight = numbers.reduce((sum, i, k) => sum + (bytes[i] ?? 0) / (stands[k] ?? 1), 0);
    for (const i of numbers) scaled[i] = ((bytes[i] ?? 0) * overTime * weight) / held;
  }
  return { bytes: scaled, stratum, total_bytes: scaled.reduce((sum, x) => sum + x, 0) };
}

/**
 * Standard error of the bytes of all strata over them: memory that comes and goes has others at each draw, and what lies between two draws nobody
 * counts. By the differences of draws that follow each other and the time for which each stands (Wolter, Introduction to Variance Estimation, 2007,
 * 8.2); those of a stratum of which most draws fell on another class stand for no more than they are of it, and each for as much.
 * @param draws whose weights these are, in the same order
 * @param hasAll whether all draws of a stratum are among them
 * @param lives when each stratum has memory
 */
export function bytesError(
  draws: readonly WatchSample[],
  { bytes, total_bytes }: DesignWeights,
  span: Span,
  hasAll: (stratum: string) => boolean,
  lives: (stratum: string) => StratumLife = () => ALWAYS,
): number {
  let variance = 0;
  for (const { stands, near, held, life_error } of byStratum(draws, bytes, span, hasAll, lives)) {
    const mean = stands.reduce((sum, x) => sum + x, 0) / stands.length;
    const squares = stands.slice(1).map((x, i) => (x - (stands[i] ?? x)) ** 2);
    const usual = squares.reduce((sum, x) => sum + x, 0) / Math.max(1, squares.length);
    const each = near.reduce((sum, share, i) => sum + share ** 2 * (squares[i - 1] ?? usual), 0);
    if (mean > 0) variance += ((held / mean) ** 2 * each) / 2 + (held * life_error) ** 2;
  }
  return total_bytes > 0 ? Math.sqrt(variance) / total_bytes : 0;
}
