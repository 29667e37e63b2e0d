/** Figures of what was read or counted of the whole target: no sample, so no interval of chance. */
import { interval } from "../../statistics/interval.ts";
import type { Group } from "../input/group.ts";
import { type Figure, notIdentifiable } from "../metrics/metric.ts";
import type { Growth, ProcessUse } from "./process-readings.ts";

/** Source of these figures: the stream of readings. */
export const PROCESS = "process";
/** A counter of time in /proc is cut to whole ticks (src/target/proc-text.ts, TICK_NS), at both ends of what grew. */
export const TICKS_CUT_NS = 10e6;

/** Share of the span that lies between the first reading and the last. */
export function readShare({ span }: Group, { read_ns }: ProcessUse): number | null {
  return span.window_ns > 0 ? Math.min(1, read_ns / span.window_ns) : null;
}

/** A figure of readings; with neither a value nor an end it is refused. */
export function readingFigure(
  group: Group,
  use: ProcessUse,
  metric: string,
  estimate: { readonly value: number | null; readonly lo: number | null; readonly hi: number | null },
  method: string,
  why?: string,
): Figure {
  return {
    metric,
    source: PROCESS,
    estimate: interval(estimate.value, estimate.lo, estimate.hi),
    n: use.readings,
    coverage: readShare(group, use),
    census: true,
    method,
    ...(why === undefined ? {} : { why }),
  };
}

/** What the figures of a span without a reading are. */
export function unread(group: Group, metrics: readonly string[]): Figure[] {
  const why =
    group.input.counts?.process == null
      ? "nobody read /proc of the traced process"
      : "too short: no reading of /proc found the traced process in it";
  return metrics.map((metric) => notIdentifiable(metric, PROCESS, 0, why));
}

/** What a counter grew by, per `per`; its ends give way by `slack`, which the counter itself does not tell. */
export function growthFigure(
  group: Group,
  use: ProcessUse,
  metric: string,
  { value, lo, hi }: Growth,
  { per = 1, slack = 0, method }: { readonly per?: number; readonly slack?: number; readonly method: string },
): Figure {
  return readingFigure(
    group,
    use,
    metric,
    { value: value / per, lo: Math.max(0, lo - slack) / per, hi: (hi + slack) / per },
    method,
  );
}
