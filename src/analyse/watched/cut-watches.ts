/** The watches of a recording that was cut off: those that were armed then are in no file. */
import type { WatchSample } from "../input/input.ts";
import { isOfNamedWord } from "./named-words.ts";

/**
 * The watches whose time, given when they were armed, was over by the last end of one that is in a file: all of them are.
 * Of the others only those are that ended early, by their k-th trap: with them busy words would count more often than idle ones.
 * A word that was not drawn but named is watched all the time: its watches are all kept, as no figure is told by them.
 */
export function overWhenCut(watches: readonly WatchSample[]): WatchSample[] {
  const last_ns = watches.reduce((last, { end_ns }) => Math.max(last, end_ns), Number.NEGATIVE_INFINITY);
  return watches.filter((watch) => isOfNamedWord(watch) || watch.begin_ns + watch.dwell_limit_ns <= last_ns);
}
