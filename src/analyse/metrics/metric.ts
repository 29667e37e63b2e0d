/** What a metric is: its page in words, and the function that reads a group and returns figures. */

import type { Scope } from "../../schema/words.ts";
import { type Interval, interval } from "../../statistics/interval.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import { isUnwritable } from "../input/write-rights.ts";
import { MOST_YOUNG, youngReason } from "../watched/young-memory.ts";

/** A figure before it is judged. */
export interface Figure {
  readonly metric: string;
  /** watch, step, region_map, or a sampled source such as pebs. */
  readonly source: string;
  /** Other sources without which the figure would be another; the engine's steps are one in a span that they cut. */
  readonly rests_on?: readonly string[];
  readonly estimate: Interval;
  readonly n: number;
  readonly n_censored?: number;
  /** Share of the weight that is censored; n_censored / n when absent. */
  readonly censored?: number;
  readonly coverage?: number | null;
  readonly grain_bytes?: number;
  readonly window_ns?: number;
  readonly method: string;
  /** True where everything was counted, so that nothing is sampled and few are enough. */
  readonly census?: boolean;
  /** Fewest samples for a value, where the interval holds with fewer than 30. */
  readonly fewest?: number;
  /** Fewest samples for an upper end, for quantiles far out; 0 when absent. */
  readonly fewest_for_hi?: number;
  /** True where the estimate itself is only a bound; `why` says why. */
  readonly bound?: boolean;
  /** True where the source cannot tell; `why` says why. */
  readonly not_identifiable?: boolean;
  readonly why?: string;
  /** The answer in words, of a metric that has one; `insufficient` where the figures leave it open. */
  readonly label?: string;
}

/** The figure of a source that cannot tell a metric: no value, and why. */
export function notIdentifiable(metric: string, source: string, n: number, why: string): Figure {
  return { metric, source, estimate: interval(null, null, null), n, method: "none", not_identifiable: true, why };
}

/** Why what a step needs bounds what it reads from below only. */
export const NEED_IS_LESS = "a step needs each row once, and may load it more often";

/** Words for docs/metrics.md. */
export interface MetricWords {
  readonly name: string;
  readonly unit: string;
  readonly definition: string;
  /** Over the exact trace, in the letters that docs/metrics.md explains. */
  readonly formula: string;
  /** What counts alike in it, such as bytes or passes; `nothing` for a sum, a count or a peak. */
  readonly averaged_over: string;
}

/** Metrics that one calculation gives. */
export interface MetricFamily {
  readonly metrics: readonly MetricWords[];
  /** One thing each, in order. */
  readonly estimator: readonly string[];
  /** Source and how it identifies the metric, best first: that order decides which figure is printed. */
  readonly sources: readonly (readonly [source: string, how: string])[];
  /** Why sampled sources (pebs, ibs, clock) cannot tell; null where they can. */
  readonly not_by_sampling: string | null;
  readonly suppressed: string;
  /** True where accesses to the same bytes through another mapping would change it: not told of shared memory by watches. */
  readonly needs_every_access?: true;
  /** What it is told of; classes of data where absent. */
  readonly scopes?: readonly Scope[];
  /**
   * Where it has a meaning: in every span of generation, in the whole phase only, or per step only; `phases` for what is
   * counted in the whole run and in each of its phases and steps.
   */
  readonly spans: "every" | "whole" | "steps" | "phases";
  /** `rows` are those of the group by the families before this one. */
  readonly figures: (group: Group, rows: readonly MetricRow[]) => Figure[];
}

/** Why a class without a write has no retention, in words that its mapping allows. */
export function noWriteReason(group: Group): string {
  if (isUnwritable(group)) return "no write can be: all of it was mapped without the right to write";
  const { all, rows } = group.regions;
  const mapped = rows.length > 0 && rows.every((row) => all.facts[all.what[row] as number]?.mapping_kind === "file");
  if (mapped) return "no write in the run";
  if (group.uniform.young > MOST_YOUNG) return youngReason(group.uniform.young);
  return group.span.phase === "generation" ? "no write seen in generation" : "no write seen in the run";
}
