/** All figures of a run, and the curves that belong to them. */
import type { RowOf } from "../schema/row.ts";
import { curveRows } from "./curves/registry.ts";
import type { MetricRow } from "./figures/metric-row.ts";
import { groupsOf } from "./input/group.ts";
import type { AnalysisInput } from "./input/input.ts";
import { figuresOf } from "./metrics/registry.ts";

export interface Estimates {
  readonly metrics: readonly MetricRow[];
  readonly curves: readonly RowOf<"curves">[];
}

/** @param input reduced sums and samples; not changed */
export function estimate(input: AnalysisInput): Estimates {
  const metrics: MetricRow[] = [];
  const curves: RowOf<"curves">[] = [];
  for (const group of groupsOf(input)) {
    const rows = figuresOf(group);
    metrics.push(...rows);
    curves.push(...curveRows(group, rows));
  }
  return { metrics, curves };
}
