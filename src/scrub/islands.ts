/** Where addresses are moved to: what lies together stays together, and where it lay is not told. */
import { randomInt } from "node:crypto";
import { countUpTo } from "../statistics/first-index.ts";

/** Addresses are moved by whole pieces of 2 MiB, so that pages, huge pages and alignment stay. */
export const GRANULE_BITS = 21;
/** Granules from which on addresses are the kernel's. */
const KERNEL_GRANULE = 2 ** (63 - GRANULE_BITS);
/** Ranges that are held before they are united, and at most. */
const BUFFER = 1 << 16;
/** Granules that were asked for lately, by their last bits. */
const RECENT = 1 << 12;
/** Least and most granules before the first island, and between two. */
const FIRST: readonly [number, number] = [1 << 11, 1 << 14];
const GAP: readonly [number, number] = [1, 64];

/** The granule of an address in two words, low first. */
export function granuleOf(low: number, high: number): number {
  return high * 2 ** (32 - GRANULE_BITS) + (low >>> GRANULE_BITS);
}

/** Ranges of granules, both ends included, in order and apart from each other. */
export interface Islands {
  readonly first: Float64Array;
  readonly last: Float64Array;
}

export interface IslandSurvey {
  /** Tells of a range that is used, ends included. */
  add(first: number, last: number): void;
  /** All that were told, united. */
  islands(): Islands;
}

/** Ranges in order of their begin, those that touch or lie at most `apart` from each other as one. */
function united(first: Float64Array, last: Float64Array, count: number, apart: number): number {
  const order = Uint32Array.from({ length: count }, (_, i) => i).sort(
    (a, b) => (first[a] as number) - (first[b] as number),
  );
  const [sortedFirst, sortedLast] = [new Float64Array(count), new Float64Array(count)];
  let kept = 0;
  for (const i of order) {
    const [begin, end] = [first[i] as number, last[i] as number];
    const before = kept - 1;
    // The first granule, of null pointers, stays where it is: it holds nothing that only touches it.
    const isNull = kept > 0 && sortedLast[before] === 0;
    if (kept > 0 && begin <= (isNull ? 0 : (sortedLast[before] as number) + 1 + apart)) {
      if (end > (sortedLast[before] as number)) sortedLast[before] = end;
      continue;
    }
    sortedFirst[kept] = begin;
    sortedLast[kept++] = end;
  }
  first.set(sortedFirst.subarray(0, kept));
  last.set(sortedLast.subarray(0, kept));
  return kept;
}

/** A survey of bounded memory: where there are very many ranges, those that lie near each other become one. */
export function surveyIslands(): IslandSurvey {
  const first = new Float64Array(BUFFER);
  const last = new Float64Array(BUFFER);
  const recent = new Float64Array(RECENT).fill(-1);
  let count = 0;
  let apart = 0;

  function unite(): void {
    count = united(first, last, count, apart);
    while (count > BUFFER / 2) {
      apart = Math.max(1, 4 * apart);
      count = united(first, last, count, apart);
    }
  }

  return {
    add(begin, end) {
      const slot = begin % RECENT;
      if (begin === end) {
        if (recent[slot] === begin) return;
        recent[slot] = begin;
      }
      if (count === BUFFER) unite();
      first[count] = begin;
      last[count++] = end;
    },
    islands() {
      unite();
      return { first: first.slice(0, count), last: last.slice(0, count) };
    },
  };
}

/** The row of the island that holds a granule; -1 where none does. */
function islandOf({ first, last }: Islands, granule: number): number {
  const row = countUpTo(first, granule) - 1;
  return row >= 0 && granule <= (last[row] as number) ? row : -1;
}

/** Moves addresses in two words each, low first, in place; 0 stays, as does what is in the first granule. */
export interface Relocation {
  move(words: Uint32Array, row: number): void;
}

/** Islands in the same order, each as long as it was, behind gaps drawn at random. */
export function relocationOf(islands: Islands): Relocation {
  const { first, last } = islands;
  const begin = new Float64Array(first.length);
  let next = randomInt(FIRST[0], FIRST[1]);
  for (let i = 0; i < first.length; i++) {
    if ((first[i] as number) >= KERNEL_GRANULE && next < KERNEL_GRANULE) next = KERNEL_GRANULE + randomInt(...GAP);
    // The first granule is that of null pointers.
    begin[i] = first[i] === 0 ? 0 : next;
    next = Math.max(next, (begin[i] as number) + (last[i] as number) - (first[i] as number) + randomInt(...GAP) + 1);
  }
  const recent = new Float64Array(RECENT).fill(-1);
  const moved = new Float64Array(RECENT);
  return {
    move(words, row) {
      const low = words[2 * row] as number;
      const granule = granuleOf(low, words[2 * row + 1] as number);
      const slot = granule % RECENT;
      if (recent[slot] !== granule) {
        const island = islandOf(islands, granule);
        // Every address was surveyed.
        if (island < 0) throw new Error("an address lies in no island");
        recent[slot] = granule;
        moved[slot] = (begin[island] as number) + granule - (first[island] as number);
      }
      const place = moved[slot] as number;
      const perHigh = 2 ** (32 - GRANULE_BITS);
      const high = Math.floor(place / perHigh);
      words[2 * row] = ((place - high * perHigh) * 2 ** GRANULE_BITS + (low & (2 ** GRANULE_BITS - 1))) >>> 0;
      words[2 * row + 1] = high;
    },
  };
}
