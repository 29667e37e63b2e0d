/** All figures of a run, and the curves that belong to them. */

import type { PlaceIndex } from "../label/regions/place-index.ts";
import type { RowOf } from "../schema/row.ts";
import { kvRegions } from "./by-region/kv-regions.ts";
import { mergedRegions } from "./by-region/merged-regions.ts";
import { regionFigures } from "./by-region/region-figures.ts";
import { sampledRegions } from "./by-region/sampled-regions.ts";
import type { RegionRows } from "./by-region/stream-regions.ts";
import { curveRows } from "./curves/registry.ts";
import type { MetricRow } from "./figures/metric-row.ts";
import { eachGroup } from "./input/group.ts";
import type { AnalysisInput } from "./input/input.ts";
import { figuresOf } from "./metrics/registry.ts";

export interface Estimates {
  readonly metrics: readonly MetricRow[];
  readonly curves: readonly RowOf<"curves">[];
  /** Of single regions: those on which enough watches or samples fell, and cache tensors by the engine's steps. */
  readonly regions: readonly RegionRows[];
}

/**
 * @param input reduced sums and samples; not changed
 * @param index over the regions of the input; null where there are none
 */
export function estimate(input: AnalysisInput, index: PlaceIndex | null): Estimates {
  const watched = index === null ? [] : regionFigures(input, index);
  const metrics: MetricRow[] = [];
  const curves: RowOf<"curves">[] = [];
  for (const group of eachGroup(input)) {
    const rows = figuresOf(group);
    metrics.push(...rows);
    curves.push(...curveRows(group, rows, watched));
  }
  return { metrics, curves, regions: mergedRegions([watched, kvRegions(input), sampledRegions(input)]) };
}
