/** Rows of some metrics for one region. */
import { rowOf } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import { type Figure, type MetricFamily, notIdentifiable } from "../metrics/metric.ts";

/** Figures as rows, in the order of the families' metrics. */
export function rowsOfFamilies(
  group: Group,
  families: readonly MetricFamily[],
  figures: readonly Figure[],
): MetricRow[] {
  return families.flatMap(({ metrics }) =>
    metrics.flatMap(({ name, unit }) =>
      figures.filter(({ metric }) => metric === name).map((figure) => rowOf(group, figure, unit)),
    ),
  );
}

/** The refusal of every metric of the families. */
export function refused(
  families: readonly MetricFamily[],
  source: string,
  n: number,
  why: (family: MetricFamily) => string,
) {
  return families.flatMap((family) => family.metrics.map(({ name }) => notIdentifiable(name, source, n, why(family))));
}
