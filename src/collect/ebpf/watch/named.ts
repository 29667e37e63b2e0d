/** Words that are watched because a person named them: all the time, whatever that costs. */
import type { WatchedWord } from "../../../config/watched-word.ts";
import type { PlannedWatch, WatchChoice } from "./watch-choice.ts";

export interface NamedWords {
  /** Process whose accesses count; those of its children have bytes of their own at the address. */
  readonly pid: number;
  /** Empty where words are drawn. */
  readonly words: readonly WatchedWord[];
}

/** Rows wait in memory until their watch ends: it is ended when it has so many, whose rows are made before the ring is full again. */
export const ENOUGH_TRAPS = 2048;
const MOST_TRAPS = 1 << 16;
const DWELL_NS = 10e9;

/** One watch for each word: a stratum of that word alone, of which nothing is left to chance. */
function watchOf({ addr, sizeBytes, mode }: WatchedWord, pid: number, number: number): PlannedWatch {
  const stratum = `named/${number}`;
  return {
    draw: {
      region: { pid, addr, size_bytes: sizeBytes, stratum, region_type: "unknown", tensor: null },
      addr,
      sizeBytes,
      stratumBytes: sizeBytes,
      inclusionProbability: 1,
      drawWeight: 1,
    },
    design: { name: "long", mode, trapLimit: MOST_TRAPS, dwellLimitNs: DWELL_NS },
  };
}

/** Watches each word again as soon as its watch has ended, whatever that costs; `count` of them at once. */
export function namedWatches({ pid, words }: NamedWords): WatchChoice & { readonly count: number } {
  const watches = words.map((word, i) => watchOf(word, pid, i + 1));
  return {
    count: words.length,
    isBudgeted: false,
    next({ isWatched }) {
      const next = watches.find(({ draw }) => !isWatched(draw));
      return next === undefined ? null : [next];
    },
    learn() {},
    forget() {},
  };
}
