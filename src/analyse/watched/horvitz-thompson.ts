/** From drawn addresses back to bytes: the weights of the watch design. */
import type { WatchSample } from "../input/input.ts";

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
  const cellOf = ({ design, stratum }: WatchSample): string =>
    design === "ahead" || design === "cohort" ? `${stratum}\n${design}` : stratum;
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
 * Standard error of the bytes of all strata over them: memory that comes and goes has others at each draw, and what lies between two draws nobody
 * counts. By the differences of draws that follow each other, as these come at about even distances (Wolter, Introduction to Variance Estimation, 2007, 8.2);
 * those of a stratum of which most draws fell on another class stand for no more than they are of it.
 * @param draws whose weights these are, in the same order
 */
export function bytesError(draws: readonly WatchSample[], { bytes, total_bytes }: DesignWeights): number {
  let variance = 0;
  for (const some of Map.groupBy(draws.keys(), (i) => draws[i]?.stratum).values()) {
    const inOrder = some.sort((a, b) => (draws[a]?.begin_ns ?? 0) - (draws[b]?.begin_ns ?? 0));
    const stands = inOrder.flatMap((i) => draws[i] ?? []).map((draw) => scarcity(draw, () => 1)[0]);
    const n = stands.length;
    const mean = stands.reduce((sum, x) => sum + x, 0) / n;
    const held = inOrder.reduce((sum, i) => sum + (bytes[i] ?? 0), 0);
    const squares = stands.slice(1).reduce((sum, x, i) => sum + (x - (stands[i] ?? x)) ** 2, 0);
    if (n > 1 && mean > 0) variance += ((held / mean) ** 2 * squares) / (2 * (n - 1) * n);
  }
  return total_bytes > 0 ? Math.sqrt(variance) / total_bytes : 0;
}
