/** Words that are watched because a person named them: all the time, whatever that costs. */
import type { WatchedWord } from "../../../config/watched-word.ts";
import type { Design } from "./design.ts";
import type { Draw } from "./draw.ts";

export interface NamedWords {
  /** Process whose accesses count; those of its children have bytes of their own at the address. */
  readonly pid: number;
  /** Empty where words are drawn. */
  readonly words: readonly WatchedWord[];
}

export interface NamedWatch {
  readonly draw: Draw;
  readonly design: Design;
}

/** Rows wait in memory until their watch ends: it is ended when it has so many, long before it would end itself. */
export const ENOUGH_TRAPS = 8192;
const MOST_TRAPS = 1 << 16;
const DWELL_NS = 10e9;

/** One watch for each word: a stratum of that word alone, of which nothing is left to chance. */
export function namedWatches({ pid, words }: NamedWords): NamedWatch[] {
  return words.map(({ addr, sizeBytes, mode }, i) => ({
    draw: {
      region: {
        pid,
        addr,
        size_bytes: sizeBytes,
        stratum: `named/${i + 1}`,
        region_type: "unknown",
        tensor: null,
      },
      addr,
      sizeBytes,
      stratumBytes: sizeBytes,
      inclusionProbability: 1,
      drawWeight: 1,
    },
    design: { name: "long", mode, trapLimit: MOST_TRAPS, dwellLimitNs: DWELL_NS },
  }));
}
