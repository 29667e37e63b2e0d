/** What one watch saw inside one span: its exposure, its passes, and what ended it. */
import { firstIndex } from "../../statistics/first-index.ts";
import type { WatchSample } from "../input/input.ts";
import type { Span } from "../input/span.ts";
import { mergePasses, type Passes } from "./passes.ts";

export interface Exposure {
  readonly watch: WatchSample;
  readonly begin_ns: number;
  readonly end_ns: number;
  /** True where the k-th trap ended it: an end that the accesses themselves chose. */
  readonly byTrap: boolean;
  /** When its bytes were freed, where that ended it; NaN otherwise. */
  readonly freed_ns: number;
  /** Hits inside the exposure: watch.hit_ns[from .. to). */
  readonly from: number;
  readonly to: number;
  readonly passes: Passes;
  /** End of the piece of the span that it lies in. */
  readonly piece_end_ns: number;
}

/** Index of the first element >= value. */
function lowerBound(sorted: Float64Array, value: number): number {
  return firstIndex(sorted.length, (i) => (sorted[i] ?? 0) < value);
}

/** The piece of the span with most of the watch in it. */
function largestPiece(watch: WatchSample, span: Span): readonly [begin: number, end: number, pieceEnd: number] | null {
  let best: readonly [number, number, number] | null = null;
  let i = Math.max(0, lowerBound(span.end_ns, watch.begin_ns));
  for (; i < span.begin_ns.length && (span.begin_ns[i] ?? 0) < watch.end_ns; i++) {
    const begin = Math.max(watch.begin_ns, span.begin_ns[i] ?? 0);
    const end = Math.min(watch.end_ns, span.end_ns[i] ?? 0);
    if (end > begin && (best === null || end - begin > best[1] - best[0])) best = [begin, end, span.end_ns[i] ?? end];
  }
  return best;
}

/**
 * Cuts a watch to its largest piece inside the span. A cut by the span is an end by time: it has nothing to do with
 * the accesses. A piece of less than half the watch is left out, because it would weigh as much as a whole one.
 * @returns null where the watch is not, or hardly, inside the span
 */
export function exposureIn(watch: WatchSample, span: Span, gapNs: number): Exposure | null {
  const piece = largestPiece(watch, span);
  if (piece === null) return null;
  const [begin, end, pieceEnd] = piece;
  if (end - begin < (watch.end_ns - watch.begin_ns) / 2) return null;
  const whole = end >= watch.end_ns;
  const from = lowerBound(watch.hit_ns, begin);
  let last = whole ? watch.hit_ns.length : lowerBound(watch.hit_ns, end);
  while (last > from && (watch.hit_ns[last - 1] ?? 0) > end) last -= 1;
  const death = watch.region_death_ns;
  const freed = whole && (watch.ended_by === "unmap" || (death !== null && death <= watch.end_ns));
  return {
    watch,
    begin_ns: begin,
    end_ns: end,
    byTrap: whole && watch.ended_by === "trap_limit",
    freed_ns: freed ? Math.min(death ?? end, end) : Number.NaN,
    from,
    to: last,
    piece_end_ns: pieceEnd,
    passes: mergePasses(watch.hit_ns, watch.hit_op, gapNs, from, last),
  };
}

/**
 * Leaves out watches that began so near the end of their piece that they could not see what the median watch sees: their
 * passes over so little time would weigh as much as a whole watch. The rule looks at the beginning alone, which has nothing to
 * do with the accesses. Short pieces keep three quarters of their time.
 */
export function withoutLate(exposures: readonly Exposure[]): Exposure[] {
  const lengths = Float64Array.from(exposures, (e) => e.end_ns - e.begin_ns).sort();
  const median = lengths[lengths.length >> 1] ?? 0;
  const shortest = new Map<number, number>();
  for (const e of exposures) {
    shortest.set(e.piece_end_ns, Math.min(shortest.get(e.piece_end_ns) ?? Number.POSITIVE_INFINITY, e.begin_ns));
  }
  return exposures.filter((e) => {
    const piece = e.piece_end_ns - (shortest.get(e.piece_end_ns) ?? 0);
    return e.begin_ns <= e.piece_end_ns - Math.min(median, piece / 4);
  });
}
