/** A figure once more, from other watches of the same run. */
import { rowOf } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import { eachGroup, type Group } from "../input/group.ts";
import type { AnalysisInput } from "../input/input.ts";
import { METRICS } from "../metrics/registry.ts";

/** True of the class and span of a figure. */
const isPlaceOf = (
  row: MetricRow,
  { scope, region_type, mapping_kind, span }: Pick<Group, "scope" | "region_type" | "mapping_kind" | "span">,
): boolean =>
  scope === row.scope &&
  region_type === row.region_type &&
  mapping_kind === row.mapping_kind &&
  span.phase === row.phase &&
  span.step === row.step;

/** The row of the same metric and source; null where the group has none. */
function figureIn(group: Group, row: MetricRow): MetricRow | null {
  const family = METRICS.find(({ metrics }) => metrics.some(({ name }) => name === row.metric));
  const figure = family
    ?.figures(group, [])
    .find(({ metric, source }) => metric === row.metric && source === row.source);
  return figure === undefined ? null : rowOf(group, figure, row.unit);
}

/** The rows of the same metrics, sources, classes and spans, in their order; null where there is none. No group is held beside the next. */
export function figuresAgain(input: AnalysisInput, rows: readonly MetricRow[]): (MetricRow | null)[] {
  const found = new Map<MetricRow, MetricRow | null>();
  for (const group of eachGroup(input, (place) => rows.some((row) => isPlaceOf(row, place)))) {
    for (const row of rows) {
      if (!found.has(row) && isPlaceOf(row, group)) found.set(row, figureIn(group, row));
    }
  }
  return rows.map((row) => found.get(row) ?? null);
}
