/** What one watch saw inside one span: the time that it was given, the part of it that it saw, and its passes. */
import { firstIndex } from "../../statistics/first-index.ts";
import type { WatchSample } from "../input/input.ts";
import { isInside, type Span } from "../input/span.ts";
import { mergePasses, type Passes } from "./passes.ts";

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

/** Index of the first element >= value. */
function lowerBound(sorted: Float64Array, value: number): number {
  return firstIndex(sorted.length, (i) => (sorted[i] ?? 0) < value);
}

/**
 * Cuts a watch to the time from the begin of the span's first piece to the end of its last.
 * @returns null where the watch was not given any of that time
 */
export function exposureIn(watch: WatchSample, span: Span, gapNs: number): Exposure | null {
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
  const from = lowerBound(watch.hit_ns, begin);
  let last = watch.hit_ns.length;
  while (last > from && (watch.hit_ns[last - 1] ?? 0) > end) last -= 1;
  const passes = mergePasses(watch.hit_ns, watch.hit_op, gapNs, from, last);
  const inside = Uint32Array.from(passes.start_ns.keys()).filter((p) => isInside(span, passes.start_ns[p] ?? 0));
  return {
    watch,
    armed_ns: watch.begin_ns,
    begin_ns: begin,
    end_ns: end,
    window_end_ns: windowEnd,
    byTrap: byTrap && watch.end_ns <= windowEnd,
    freed_ns: freed ? Math.min(death, given) : Number.NaN,
    from,
    to: last,
    passes,
    inside,
    inside_ns: Float64Array.from(inside, (p) => passes.start_ns[p] ?? 0),
  };
}
