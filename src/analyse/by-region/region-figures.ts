/** Figures of single regions, by the estimators and the judgement of their classes. */
import type { PlaceIndex } from "../../label/regions/place-index.ts";
import { isWholeLife } from "../../label/regions/places.ts";
import { rowOf } from "../figures/figure-row.ts";
import type { MetricRow } from "../figures/metric-row.ts";
import { meanBytes } from "../input/class-bytes.ts";
import type { AnalysisInput } from "../input/input.ts";
import { regionGroups } from "../input/region-groups.ts";
import { workedOver } from "../input/worked-over.ts";
import { ageAtRead } from "../metrics/age-at-read.ts";
import { readBytesPerSecond, writeBytesPerSecond } from "../metrics/byte-rates.ts";
import { interAccessInterval } from "../metrics/inter-access-interval.ts";
import { locality } from "../metrics/locality.ts";
import { readsPerWrite } from "../metrics/reads-per-write.ts";
import { residentBytes } from "../metrics/resident-bytes.ts";
import { retention } from "../metrics/retention.ts";
import { figuresTold } from "../metrics/shared-memory.ts";
import { workingSet } from "../metrics/working-set.ts";
import { type RegionIdentity, regionIdentity } from "./region-identity.ts";

/** What watches of one region can tell, and why they cannot tell what the Python package gave of each; of its pages in memory its bytes alone. */
const FAMILIES = [
  residentBytes,
  readBytesPerSecond,
  writeBytesPerSecond,
  interAccessInterval,
  readsPerWrite,
  ageAtRead,
  retention,
  workingSet,
  locality,
];

/** One region with its figures. */
export interface RegionFigures extends RegionIdentity {
  readonly size_bytes: number;
  /** In the mean of the time of its figures: fewer than its size where it was there for a part of it. */
  readonly mean_bytes: number;
  readonly lifetime_ns: number;
  /** True where its begin or its end was not seen: it lived longer. */
  readonly isCensored: boolean;
  readonly rows: readonly MetricRow[];
}

/** @param index over the regions of the input */
export function regionFigures(input: AnalysisInput, index: PlaceIndex): RegionFigures[] {
  const { regions } = input;
  const out: RegionFigures[] = [];
  for (const { row, group } of regionGroups(input, index)) {
    const rows: MetricRow[] = [];
    for (const family of FAMILIES) {
      const figures = figuresTold(family, group, rows);
      workedOver();
      for (const { name, unit } of family.metrics) {
        for (const figure of figures) if (figure.metric === name) rows.push(rowOf(group, figure, unit));
      }
    }
    out.push({
      ...regionIdentity(input, row),
      size_bytes: (regions.end[row] as number) - (regions.begin[row] as number),
      mean_bytes: meanBytes(group.regions, group.span),
      lifetime_ns: (regions.death_ns[row] as number) - (regions.birth_ns[row] as number),
      isCensored: !isWholeLife(regions.censored[row] as number),
      rows,
    });
  }
  return out;
}
