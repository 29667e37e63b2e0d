/** A figure once more, from other watches of the same run. */
import { rowOf } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import { METRICS } from "../metrics/registry.ts";

/** The row of the same metric, source, class and span; null where the groups have none. */
export function figureAgain(groups: readonly Group[], row: MetricRow): MetricRow | null {
  const family = METRICS.find(({ metrics }) => metrics.some(({ name }) => name === row.metric));
  const group = groups.find(
    ({ scope, region_type, mapping_kind, span }) =>
      scope === row.scope &&
      region_type === row.region_type &&
      mapping_kind === row.mapping_kind &&
      span.phase === row.phase &&
      span.step === row.step,
  );
  if (group === undefined || family === undefined) return null;
  const figure = family.figures(group, []).find(({ metric, source }) => metric === row.metric && source === row.source);
  return figure === undefined ? null : rowOf(group, figure, row.unit);
}
