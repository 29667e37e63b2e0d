/**
 * Stretches of a span in which no watch began, or far fewer: the tracer was stopped, had no CPU, or left times without watches. Where it
 * noted that itself they may be short; else only those that are long beside the pauses between watches show.
 */
import type { AnalysisInput, WatchSample } from "../input/input.ts";
import { coveredNs, type Span } from "../input/span.ts";
import { MOST_RARE, medianOf, usualByLaw, watchesPerPiece } from "./arming-density.ts";
import { FEWEST_OF_LAW, type LawAt } from "./dwell-laws.ts";
import { lostOver } from "./lost-watches.ts";
import { tellingWatches } from "./named-words.ts";
import { lengthOf, outside, type Pieces } from "./passed-over.ts";
import { MOST_YOUNG, youngReason } from "./young-memory.ts";

/** A pause between two beginnings is a stretch where it is so many times the usual one, and at least this long. */
const TIMES_USUAL = 20;
const LEAST_NS = 100e6;
/** So many times the usual one it is where the schedule has none as long. Of watches that began at any moment one in a thousand would be. */
const TIMES_UNSCHEDULED = 10;
/** No pause is longer by the schedule (pace.ts) than two turns of the watch before it, or three where that is one of two that began together. */
const MOST_TURNS = 3;
/** For so long looks put a watch off at most. */
const MOST_PUT_OFF_NS = 500e6;
/** Above this share a figure is held back: what went on meanwhile is anybody's guess. */
const MOST_UNWATCHED = 0.02;

/** What is needed of a watch, and there of those too for which there was no memory. */
type Begun = Pick<WatchSample, "begin_ns" | "stratum" | "trap_limit" | "dwell_limit_ns"> & { readonly design: string };

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
 * The longest pause that the schedule has behind each watch: turns of watches of its trap limit, as the usual pause behind these tells them, then a wait for
 * registers that others hold, and for looks to be paid. Where a turn takes long, as traps cost much or the budget is small, that is far less than many times the usual.
 * A turn may also last as long as the watch is given time, or so many times as long.
 * @param watches in order of time
 * @param pauses behind each but the last, ns
 * @param laws of each
 */
function longestScheduled(
  watches: readonly Begun[],
  pauses: readonly number[],
  laws: Uint32Array,
): (watch: number) => number {
  const keyOf = (i: number): string => `${laws[i]}/${watches[i]?.trap_limit}`;
  const held = watches.reduce((most, w) => (w.design === "short" ? Math.max(most, w.dwell_limit_ns) : most), 0);
  const dwellOf = (i: number): number => watches[i]?.dwell_limit_ns ?? 0;
  const usual = new Map<string, { readonly pause: number; readonly dwell: number }>();
  for (const [key, some] of Map.groupBy(pauses.keys(), keyOf)) {
    if (some.length < FEWEST_OF_LAW) continue;
    usual.set(key, { pause: medianOf(some.map((i) => pauses[i] ?? 0)), dwell: medianOf(some.map(dwellOf)) });
  }
  return (i) => {
    const { pause, dwell } = usual.get(keyOf(i)) ?? { pause: Number.POSITIVE_INFINITY, dwell: 0 };
    const longer = dwell > 0 ? Math.max(1, dwellOf(i) / dwell) : 1;
    return MOST_TURNS * pause * longer + held + MOST_PUT_OFF_NS;
  };
}

/**
 * Share of the span that lies in such stretches, in [0, 1]. What is usual is so of the law by which watches were given their times: the longer these
 * are, the longer it is until a register is free.
 * @param watches all of the run, of every class, but for those that were left
 * @param input with these, and the stretches in which none of them was to begin, which count as no time
 */
export function unwatchedShare(
  watches: readonly WatchSample[],
  span: Span,
  {
    passed_over: passedOver = [],
    late,
    left_watches: left = [],
  }: Pick<AnalysisInput, "passed_over" | "late" | "left_watches"> = {},
  lawAt: LawAt = () => 0,
): number {
  const inSpanNs = (pieces: Pieces): number => pieces.reduce((sum, [from, end]) => sum + coveredNs(span, from, end), 0);
  const all: readonly Begun[] = left.length === 0 ? watches : tellingWatches<Begun>([...watches, ...left]);
  const inOrder = all.toSorted((a, b) => a.begin_ns - b.begin_ns);
  const begins = Float64Array.from(inOrder, ({ begin_ns }) => begin_ns);
  // Not held: of a run with more watches than fit they are as many as all of these.
  const pauseAt = (i: number): Pieces => outside(begins[i] ?? 0, begins[i + 1] ?? 0, passedOver);
  const window = span.window_ns - inSpanNs(passedOver);
  if (begins.length <= 1 || !(window > 0)) return 0;
  const laws = Uint32Array.from(begins, lawAt);
  const lengths = Array.from(begins.subarray(1), (_, i) => lengthOf(pauseAt(i)));
  const usualOf = usualByLaw(lengths, laws.subarray(0, -1));
  const scheduled = longestScheduled(inOrder, lengths, laws);
  /** From a watch of some number on, to the next. */
  const least = (i: number): number => {
    const usual = Math.max(usualOf(laws[i] ?? 0), usualOf(laws[i + 1] ?? laws[i] ?? 0));
    const unscheduled = Math.max(TIMES_UNSCHEDULED * usual, scheduled(i));
    return Math.max(LEAST_NS, Math.min(TIMES_USUAL * usual, unscheduled));
  };
  const lastNs = span.end_ns[span.end_ns.length - 1] ?? 0;
  const ends = [
    [outside(span.begin_ns[0] ?? 0, begins[0] ?? 0, passedOver), least(0)],
    [outside(begins.at(-1) ?? 0, lastNs, passedOver), least(lengths.length)],
  ] as const;
  const noted = late?.stretches ?? [];
  const lateNs = (pieces: Pieces): number =>
    inSpanNs(pieces) - inSpanNs(pieces.flatMap(([from, end]) => outside(from, end, noted)));
  let sum = Math.min(late?.left_out_ns ?? 0, inSpanNs(outside(noted.at(-1)?.[1] ?? 0, lastNs, passedOver)));
  const unseenNs = (pieces: Pieces, most: number): number =>
    lengthOf(pieces) > most ? inSpanNs(pieces) : lateNs(pieces);
  for (let i = 0; i < lengths.length; i++) sum += unseenNs(pauseAt(i), least(i));
  for (const [pieces, most] of ends) sum += unseenNs(pieces, most);
  const byLaw = Map.groupBy(lengths.keys(), (i) => laws[i] ?? 0);
  let thin = 0;
  for (const some of byLaw.values()) thin += thinNs(some.map((i) => inSpanNs(pauseAt(i))).filter((ns) => ns > 0));
  return Math.min(1, Math.max(sum, thin) / window);
}
