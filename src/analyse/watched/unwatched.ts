/** Stretches of a span in which no watch began: the tracer was stopped, or had no CPU. */
import type { WatchSample } from "../input/input.ts";
import { coveredNs, type Span } from "../input/span.ts";

/** A pause between two beginnings is a stretch where it is so many times the usual one, and at least this long. */
const TIMES_USUAL = 20;
const LEAST_NS = 100e6;
/** Above this share a figure is held back: what went on meanwhile is anybody's guess. */
export const MOST_UNWATCHED = 0.05;

export const unwatchedReason = (share: number): string =>
  `nothing was looked at in ${Math.round(100 * share)} % of the time`;

/**
 * Share of the span that lies in such stretches, in [0, 1].
 * @param watches all of the run, of every class
 */
export function unwatchedShare(watches: readonly WatchSample[], span: Span): number {
  const begins = Float64Array.from(watches, ({ begin_ns }) => begin_ns).sort();
  const pauses = begins.slice(1).map((begin, i) => begin - (begins[i] ?? 0));
  if (pauses.length === 0 || !(span.window_ns > 0)) return 0;
  const usual = Float64Array.from(pauses).sort()[pauses.length >> 1] ?? 0;
  const least = Math.max(LEAST_NS, TIMES_USUAL * usual);
  let sum = 0;
  const add = (from: number, end: number): void => {
    if (end - from > least) sum += coveredNs(span, from, end);
  };
  add(span.begin_ns[0] ?? 0, begins[0] ?? 0);
  pauses.forEach((pause, i) => {
    add(begins[i] ?? 0, (begins[i] ?? 0) + pause);
  });
  add(begins.at(-1) ?? 0, span.end_ns[span.end_ns.length - 1] ?? 0);
  return Math.min(1, sum / span.window_ns);
}
