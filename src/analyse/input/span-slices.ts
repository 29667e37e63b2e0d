/** Spans that overlap, as slices of time that do not: what is counted per slice is counted for every span at once. */
import { countUpTo } from "../../statistics/first-index.ts";
import type { Span } from "./span.ts";

export interface SpanSlices {
  readonly spans: readonly Span[];
  /** Begin of each slice, ascending; the first is -Infinity, the last has no end. */
  readonly begin_ns: Float64Array;
  /** Bit s of a slice: span s holds it. */
  readonly spansOf: Uint32Array;
  /** The slice that holds a moment. */
  sliceAt(time_ns: number): number;
}

/**
 * Slices of spans. A span that reaches to an end of the run holds what lies beyond that end too.
 * @param spans at most 32
 * @param windowNs length of the run
 */
export function spanSlices(spans: readonly Span[], windowNs: number): SpanSlices {
  const pieces = spans.flatMap(({ begin_ns, end_ns }, span) =>
    Array.from(begin_ns, (begin, i) => ({
      span,
      begin: begin <= 0 ? Number.NEGATIVE_INFINITY : begin,
      end: (end_ns[i] ?? begin) >= windowNs ? Number.POSITIVE_INFINITY : (end_ns[i] ?? begin),
    })),
  );
  const ends = pieces.flatMap(({ begin, end }) => [begin, end]).filter(Number.isFinite);
  const begins = Float64Array.from(new Set([Number.NEGATIVE_INFINITY, ...ends])).sort();
  const masks = new Uint32Array(begins.length);
  const search = (time_ns: number): number => countUpTo(begins, time_ns) - 1;
  for (const { span, begin, end } of pieces) {
    const last = end === Number.POSITIVE_INFINITY ? begins.length : search(end);
    for (let slice = search(begin); slice < last; slice++) masks[slice] = (masks[slice] as number) | (1 << span);
  }
  let near = 0;
  return {
    spans,
    begin_ns: begins,
    spansOf: masks,
    sliceAt(time_ns) {
      // Rows come roughly in order of time.
      const isNear = time_ns >= (begins[near] as number) && time_ns < (begins[near + 1] ?? Number.POSITIVE_INFINITY);
      if (!isNear) near = search(time_ns);
      return near;
    },
  };
}
