/** Stretches of a span in which no watch began, or far fewer: the tracer was stopped, had no CPU, or left times without watches. */
import type { AnalysisInput, WatchSample } from "../input/input.ts";
import { coveredNs, type Span } from "../input/span.ts";
import { MOST_RARE, usualByLaw, watchesPerPiece } from "./arming-density.ts";
import type { LawAt } from "./dwell-laws.ts";
import { lostOver } from "./lost-watches.ts";
import { lengthOf, outside, type Pieces } from "./passed-over.ts";
import { MOST_YOUNG, youngReason } from "./young-memory.ts";

/** A pause between two beginnings is a stretch where it is so many times the usual one, and at least this long. */
const TIMES_USUAL = 20;
const LEAST_NS = 100e6;
/** Above this share a figure is held back: what went on meanwhile is anybody's guess. */
const MOST_UNWATCHED = 0.02;

/** Shares of the bytes and time of a class that no watch could see. */
interface Unseen {
  /** Nothing was looked at. */
  readonly unwatched: number;
  /** The memory had come so lately that none could be drawn from it. */
  readonly young: number;
}

/** Why figures over passes are held back: those of that time may be as many, and of any kind; null where it is short. */
export function missedPasses({ unwatched, young }: Unseen): string | null {
  if (unwatched > MOST_UNWATCHED) return `nothing was looked at in ${Math.round(100 * unwatched)} % of the time`;
  return young > MOST_YOUNG ? youngReason(young) : null;
}

/** Passes of a short such time over those that were seen, at most: twice as dense as these. */
export const unwatchedPasses = ({ unwatched, young }: Unseen): number => 2 * (unwatched + young);

/** Share of the bytes and moments of which no watch tells: it could see none of them, or a trap of it was lost. */
export const untoldMoments = ({ unwatched, young, lost }: Unseen & { readonly lost: number }): number =>
  1 - (1 - unwatched) * (1 - young) * (1 - lost);

/** The same over those that are told. */
export const untoldOver = (set: Unseen & { readonly lost: number }): number => lostOver(untoldMoments(set));

/**
 * How much longer, in all, pieces of as many watches took than those may that weigh for as much as they are rarer, ns.
 * @param pauses between beginnings, in order of time, ns
 */
function thinNs(pauses: readonly number[]): number {
  const sumOf = (some: readonly number[]): number => some.reduce((sum, ns) => sum + ns, 0);
  const pieces = Math.floor(pauses.length / watchesPerPiece(pauses));
  const most = (MOST_RARE * sumOf(pauses)) / Math.max(1, pieces);
  const from = (piece: number): number => Math.round((piece * pauses.length) / pieces);
  const lengths = Array.from({ length: pieces }, (_, i) => sumOf(pauses.slice(from(i), from(i + 1))));
  return sumOf(lengths.map((ns) => Math.max(0, ns - most)));
}

/**
 * Share of the span that lies in such stretches, in [0, 1]. What is usual is so of the law by which watches were given their times: the longer these
 * are, the longer it is until a register is free.
 * @param watches all of the run, of every class
 * @param passedOver stretches in which none of them was to begin: these count as no time
 */
export function unwatchedShare(
  watches: readonly WatchSample[],
  span: Span,
  passedOver: AnalysisInput["passed_over"] = [],
  lawAt: LawAt = () => 0,
): number {
  const inSpanNs = (pieces: Pieces): number => pieces.reduce((sum, [from, end]) => sum + coveredNs(span, from, end), 0);
  const begins = Float64Array.from(watches, ({ begin_ns }) => begin_ns).sort();
  const pauses = Array.from(begins.subarray(1), (begin, i) => outside(begins[i] ?? 0, begin, passedOver));
  const window = span.window_ns - inSpanNs(passedOver);
  if (pauses.length === 0 || !(window > 0)) return 0;
  const laws = Uint32Array.from(begins, lawAt);
  const usualOf = usualByLaw(pauses.map(lengthOf), laws.subarray(0, -1));
  /** From a watch of some number on, to the next. */
  const least = (i: number): number =>
    Math.max(LEAST_NS, TIMES_USUAL * Math.max(usualOf(laws[i] ?? 0), usualOf(laws[i + 1] ?? laws[i] ?? 0)));
  const ends = [
    [outside(span.begin_ns[0] ?? 0, begins[0] ?? 0, passedOver), least(0)],
    [outside(begins.at(-1) ?? 0, span.end_ns[span.end_ns.length - 1] ?? 0, passedOver), least(pauses.length)],
  ] as const;
  let sum = 0;
  for (const [pieces, most] of [...pauses.map((pieces, i) => [pieces, least(i)] as const), ...ends]) {
    if (lengthOf(pieces) > most) sum += inSpanNs(pieces);
  }
  const byLaw = Map.groupBy(pauses.keys(), (i) => laws[i] ?? 0);
  let thin = 0;
  for (const some of byLaw.values()) thin += thinNs(some.map((i) => inSpanNs(pauses[i] ?? [])).filter((ns) => ns > 0));
  return Math.min(1, Math.max(sum, thin) / window);
}
