/** How much of a span the memory of a stratum is there: its bytes are told by draws, and none can fall on it before it comes or once it is gone. */
import { isSampledStratum } from "../../regions/sampled-stratum.ts";
import { meanBytes } from "../input/class-bytes.ts";
import type { WatchSample } from "../input/input.ts";
import type { RegionSet } from "../input/region-set.ts";
import { coveredNs, isInside, type Span } from "../input/span.ts";

/**
 * Of what no engine names only what is in memory is drawn (`draw-regions.ts`): it may be mapped and have no page. A turn tries 256 words, so that where this share of them is
 * in memory it finds nothing in one case of twenty.
 */
const BY_PAGES = /^(runtime|unknown)\//;
const MOST_MISSED = 3 / 256;
/** Turns tell the share of the time in which there was something to draw up to so much, and two draws. */
const TURNS_OFF = 0.05;

type Life = readonly [birth_ns: number, death_ns: number];

/** The lives put together: those that overlap as one, in order. */
function together(lives: readonly Life[]): Life[] {
  const out: [number, number][] = [];
  for (const [birth, death] of [...lives].sort(([a], [b]) => a - b)) {
    const last = out.at(-1);
    if (last !== undefined && birth <= last[1]) last[1] = Math.max(last[1], death);
    else out.push([birth, death]);
  }
  return out;
}

/** When a stratum has memory. */
export interface StratumLife {
  /** Share of the span, in [0, 1]. */
  readonly share: number;
  /** Standard error of that share over it: 0 where it is known. */
  readonly error: number;
  /** Pieces of time in which it has any, in order; far beyond the span where it is there before or after. */
  readonly pieces: readonly Life[];
}

/** Of memory that is there before the span and after it. */
export const ALWAYS: StratumLife = {
  share: 1,
  error: 0,
  pieces: [[Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]],
};

/** Time of the span that lies in pieces of time, from one moment to another, ns. */
export function livedNs(span: Span, pieces: readonly Life[], from: number, end: number): number {
  return pieces.reduce((sum, [birth, death]) => sum + coveredNs(span, Math.max(from, birth), Math.min(end, death)), 0);
}

/**
 * Share of the turns in which each stratum could have been drawn: a turn goes to one that has memory with the chance that the draw notes, so that
 * each draw stands for as many turns as that is rare (Horvitz and Thompson, JASA 47, 1952).
 * @param watches of all classes; two that began together as a cohort are one turn
 * @param rarityAt as rarityOver has it of them
 * @returns null for a stratum without a draw in the span
 */
export function sharesOfTurns(
  watches: readonly WatchSample[],
  span: Span,
  rarityAt: (begin_ns: number) => number,
): (stratum: string) => number | null {
  const turns = new Map<string, number>();
  let all = 0;
  for (const { stratum, design, draw_weight, begin_ns } of watches) {
    if (!isInside(span, begin_ns)) continue;
    const turn = (design === "cohort" ? 0.5 : 1) * rarityAt(begin_ns);
    all += turn;
    // The others stand for the turns that went to rows ahead, as these are there for some of the time only.
    if (design === "ahead") continue;
    turns.set(stratum, (turns.get(stratum) ?? 0) + turn / (draw_weight > 0 ? draw_weight : 1));
  }
  return (stratum) => {
    const mine = turns.get(stratum);
    return mine === undefined ? null : Math.min(1, mine / all);
  };
}

/**
 * When a stratum has memory in the span: by the regions on which its watches fell, and those of the class on which none fell, which may be
 * of any stratum; how much of these is of it the turns tell. These tell too how long what is mapped had no page: draws that found nothing left no row, and others had
 * their turns. Always where no region is known.
 * @param draws of the strata of a class, whatever was found where they fell
 * @param turnsOf share of the turns in which a stratum could have been drawn; null where that is not known
 */
export function stratumLives(
  draws: readonly WatchSample[],
  { all, rows }: RegionSet,
  span: Span,
  turnsOf: (stratum: string) => number | null = () => null,
): (stratum: string) => StratumLife {
  if (rows.length === 0 || !(span.window_ns > 0)) return () => ALWAYS;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  // What was there before the run, or outlives the span, is so whenever it came or goes.
  const life = (birth: number, death: number | null): Life => [
    Math.max(0, birth),
    death === null || death >= end ? Number.POSITIVE_INFINITY : death,
  ];
  const watched = new Map<number, Set<number>>();
  const lifeOf = ({ region_birth_ns, region_death_ns }: WatchSample): Life => life(region_birth_ns, region_death_ns);
  for (const [birth, death] of draws.map(lifeOf)) watched.set(birth, (watched.get(birth) ?? new Set()).add(death));
  const drawn = Map.groupBy(draws, ({ stratum }) => stratum);
  const others: Life[] = [];
  for (const row of rows) {
    const one = life(all.birth_ns[row] as number, all.death_ns[row] as number);
    if (watched.get(one[0])?.has(one[1]) !== true) others.push(one);
  }
  const ofAny = together(others);
  const mapped = meanBytes({ all, rows }, span);
  const shareOf = (pieces: readonly Life[]): number =>
    livedNs(span, pieces, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY) / span.window_ns;
  const compute = (stratum: string): StratumLife => {
    const mine = drawn.get(stratum) ?? [];
    const least = together(mine.map(lifeOf));
    const most = together([...ofAny, ...least]);
    const [lo, hi] = [shareOf(least), shareOf(most)];
    const turns = turnsOf(stratum);
    // Since when a part was used more than the rest, or seen to be, is not known: not before it was drawn from, or all the time.
    if (isSampledStratum(stratum) && turns !== null && turns < hi) {
      const share = (turns + hi) / 2;
      return { share, error: (hi - turns) / 2 / share, pieces: most };
    }
    const isThere = turns === null || turns > hi - TURNS_OFF - 2 / mine.length;
    if (BY_PAGES.test(stratum) && turns !== null && !isThere) {
      const stands = mine.reduce((sum, { stratum_bytes }) => sum + stratum_bytes, 0) / mine.length;
      const missed = (hi - turns) * Math.min(1, (MOST_MISSED * mapped) / stands);
      const share = turns + missed / 2;
      return { share, error: Math.hypot(1 / Math.sqrt(mine.length), missed / 2 / share), pieces: most };
    }
    if (turns === null || !(hi > lo)) return { share: hi, error: 0, pieces: most };
    const share = Math.min(hi, Math.max(lo, turns));
    // As many draws as there are tell it, and it lies between both.
    const error = Math.min(1 / Math.sqrt(mine.length), (hi - lo) / 2 / share);
    return { share, error, pieces: hi - share < share - lo ? most : least };
  };
  const found = new Map<string, StratumLife>();
  return (stratum) => {
    const one = found.get(stratum) ?? compute(stratum);
    found.set(stratum, one);
    return one;
  };
}
