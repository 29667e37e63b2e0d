/** What one watch saw inside one span: the time that it was given, the part of it that it saw, and its passes. */
import { countBelow } from "../../statistics/first-index.ts";
import type { WatchSample } from "../input/input.ts";
import { isInside, type Span } from "../input/span.ts";
import { firstNumbers, mergePasses, type Passes } from "./passes.ts";

export interface Exposure {
  readonly watch: WatchSample;
  /** When it was armed. */
  readonly armed_ns: number;
  /** From here it is inside the span: the later one of its arming and the begin of the span. */
  readonly begin_ns: number;
  /** End of what it saw: the k-th trap, or else the end of its time. */
  readonly end_ns: number;
  /** End of the time that it was given, inside the span and while its bytes live: known without anything that it saw. */
  readonly window_end_ns: number;
  /** True where the k-th trap ended it, or those of other processes did: an end that the accesses themselves chose. */
  readonly byTrap: boolean;
  /** When its bytes were freed, where that ended its time; NaN otherwise, as where they were moved. */
  readonly freed_ns: number;
  /** Hits inside the exposure: watch.hit_ns[from .. to). */
  readonly from: number;
  readonly to: number;
  readonly passes: Passes;
  /** Passes that begin in a piece of the span: their numbers in `passes`, and their begins. */
  readonly inside: Uint32Array;
  readonly inside_ns: Float64Array;
}

/** When a watch looked at a span, without anything that it saw there. */
type Given = Omit<Exposure, "watch" | "from" | "to" | "passes" | "inside" | "inside_ns">;

/** @returns null where the watch was not given any time from the begin of the span's first piece to the end of its last */
function givenIn(watch: WatchSample, span: Span): Given | null {
  const spanEnd = span.end_ns[span.end_ns.length - 1] ?? 0;
  const begin = Math.max(watch.begin_ns, span.begin_ns[0] ?? 0);
  const death = watch.region_death_ns ?? Number.POSITIVE_INFINITY;
  // What came later at these addresses was done to other memory: the tracer may hear of the free after the watch.
  const last_ns = Math.min(watch.end_ns, death);
  // A watch is taken out some ms after its time is over: what it saw then is left out, as one that stopped itself saw none of it. That
  // holds for a last trap too: where only those that reach it count, times that end so are seen more often than others as long.
  const deadline = watch.begin_ns + watch.dwell_limit_ns;
  // Traps of processes that have bytes of their own at the address, as after a fork: they come where the watched one is busy, too.
  const isByTraps = watch.ended_by === "trap_limit" || watch.ended_by === "foreign";
  const byTrap = isByTraps && watch.end_ns <= Math.min(deadline, death);
  const given = byTrap ? Math.min(deadline, death) : Math.min(last_ns, deadline);
  const windowEnd = Math.min(given, spanEnd);
  if (windowEnd <= begin) return null;
  const end = Math.min(last_ns, windowEnd);
  const isGone = given <= spanEnd && last_ns <= deadline && (watch.ended_by === "unmap" || death <= given);
  // What a call moves is used, written and freed at its other address: here no more is seen of it, which tells nothing.
  const freed = isGone && !(watch.is_moved === true && death <= last_ns);
  return {
    armed_ns: watch.begin_ns,
    begin_ns: begin,
    end_ns: end,
    window_end_ns: windowEnd,
    byTrap: byTrap && watch.end_ns <= windowEnd,
    freed_ns: freed ? Math.min(death, given) : Number.NaN,
  };
}

/** True where a watch was given some of the time from the begin of the span's first piece to the end of its last. */
export const isGivenIn = (watch: WatchSample, span: Span): boolean => givenIn(watch, span) !== null;

const NO_TIMES = new Float64Array(0);

/** Some of the passes of a watch: those of a list that begin in a piece of the span. */
function insideOf(span: Span, { start_ns }: Passes, some: Uint32Array): Pick<Exposure, "inside" | "inside_ns"> {
  let count = 0;
  for (const p of some) if (isInside(span, start_ns[p] ?? 0)) count += 1;
  if (count === start_ns.length) return { inside: firstNumbers(count), inside_ns: start_ns };
  const inside = count === 0 ? firstNumbers(0) : new Uint32Array(count);
  const inside_ns = count === 0 ? NO_TIMES : new Float64Array(count);
  let next = 0;
  for (const p of some) {
    const time = start_ns[p] ?? 0;
    if (!isInside(span, time)) continue;
    inside[next] = p;
    inside_ns[next++] = time;
  }
  return { inside, inside_ns };
}

/**
 * Cuts a watch to the time from the begin of the span's first piece to the end of its last.
 * @param wider what it saw in a longer span, with the same gap, whose passes are its own where no hit is cut off
 * @returns null where the watch was not given any of that time
 */
export function exposureIn(watch: WatchSample, span: Span, gapNs: number, wider?: Exposure): Exposure | null {
  const given = givenIn(watch, span);
  if (given === null) return null;
  const from = countBelow(watch.hit_ns, given.begin_ns);
  let last = watch.hit_ns.length;
  while (last > from && (watch.hit_ns[last - 1] ?? 0) > given.end_ns) last -= 1;
  const isSame = wider?.from === from && wider.to === last;
  const passes = isSame ? wider.passes : mergePasses(watch.hit_ns, watch.hit_op, gapNs, from, last);
  const { inside, inside_ns } = insideOf(span, passes, firstNumbers(passes.count));
  return { watch, ...given, from, to: last, passes, inside, inside_ns };
}

/** The exposures of watches in one span, each made once: sets of several designs hold the same watches. */
export function exposuresIn(span: Span, gapNs: number): (watch: WatchSample) => Exposure | null {
  const found = new Map<WatchSample, Exposure | null>();
  return (watch) => {
    const earlier = found.get(watch);
    if (earlier !== undefined) return earlier;
    const exposure = exposureIn(watch, span, gapNs);
    found.set(watch, exposure);
    return exposure;
  };
}

/** An exposure of which only those passes count that begin in some pieces of its span. */
export function countedIn(exposure: Exposure, pieces: Span): Exposure {
  const { inside, inside_ns } = insideOf(pieces, exposure.passes, exposure.inside);
  return inside.length === exposure.inside.length ? exposure : { ...exposure, inside, inside_ns };
}
