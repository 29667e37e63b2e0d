/** The watches of a recording that was cut off: those that were armed then are in no file. */
import type { WatchSample } from "../input/input.ts";

/**
 * The watches whose time, given when they were armed, was over by the last end of one that is in a file: all of them are.
 * Of the others only those are that ended early, by their k-th trap: with them busy words would count more often than idle ones.
 * A word that was not drawn but named is watched all the time: its watches are all kept.
 */
export function overWhenCut(watches: readonly WatchSample[]): WatchSample[] {
  const last_ns = watches.reduce((last, { end_ns }) => Math.max(last, end_ns), Number.NEGATIVE_INFINITY);
  return watches.filter(
    ({ begin_ns, dwell_limit_ns, inclusion_probability }) =>
      inclusion_probability === 1 || begin_ns + dwell_limit_ns <= last_ns,
  );
}
