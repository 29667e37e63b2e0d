/** Words that somebody named, and breakpoints that perf set: nothing was left to chance, so that they stand for themselves alone. */
import type { WatchSample } from "../input/input.ts";

const STRATUM = /^(?:named|breakpoint)\//;

/**
 * True where the word of a watch was named. Its watches follow one another: the next one begins where the accesses ended the one before, or lasts from
 * the first access to the last. That is no moment picked at random, and the word is none of the words of its class that was.
 */
export const isOfNamedWord = ({ stratum }: Pick<WatchSample, "stratum">): boolean => STRATUM.test(stratum);

/** The watches that tell of their classes: those of words that were drawn, where there are any; else all, whose figures are refused. */
export function tellingWatches<W extends Pick<WatchSample, "stratum">>(watches: readonly W[]): readonly W[] {
  const drawn = watches.filter((watch) => !isOfNamedWord(watch));
  return drawn.length > 0 ? drawn : watches;
}

/** Why the watches of a class tell nothing of it; null where they were drawn. */
export function namedAlone(exposures: readonly { readonly watch: WatchSample }[]): string | null {
  if (!exposures.some(({ watch }) => isOfNamedWord(watch))) return null;
  return "the word that was watched was named, not drawn, and watched again when its accesses ended a watch: they are in trace/, and tell nothing of other words or moments";
}
