/** What is told of the reads and writes of a byte together holds where all of them go through the mapping that is watched. */
import type { MetricRow } from "../figures/metric-row.ts";
import type { Group } from "../input/group.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { namedAlone } from "../watched/named-words.ts";
import { type Figure, type MetricFamily, notIdentifiable } from "./metric.ts";

/** Above this share of the bytes of a class in memory that others may use, what needs all accesses is not told. */
export const MOST_SHARED = 0.01;

/** Sources that see what goes through the mappings of the traced processes. */
const BY_MAPPING = ["watch", "region_map"];

/** Why a figure needs accesses that the watches of a class may not see; null where they see all. */
export function unseenByOthers({ exposures, weights }: WatchSet): string | null {
  let shared = 0;
  for (const [i, { watch }] of exposures.entries()) if (watch.is_shared === true) shared += weights.bytes[i] as number;
  const share = weights.total_bytes > 0 ? shared / weights.total_bytes : 0;
  if (share <= MOST_SHARED) return null;
  const pct = Number((100 * share).toPrecision(3));
  return `others may use the same bytes through another mapping: ${pct} % of the bytes lie in shared memory`;
}

/** The figures of a family of a group, without those that accesses of others would change, and those of words that were named. */
export function figuresTold(family: MetricFamily, group: Group, rows: readonly MetricRow[]): Figure[] {
  const figures = family.figures(group, rows);
  const named = namedAlone(group.every.exposures);
  const why = named ?? (family.needs_every_access === true ? unseenByOthers(group.every) : null);
  if (why === null) return figures;
  return figures.map((figure) => {
    const isOfWatches = figure.source === "watch" || figure.rests_on?.includes("watch") === true;
    if (!(named === null ? BY_MAPPING.includes(figure.source) : isOfWatches)) return figure;
    const { metric, source, n, grain_bytes } = figure;
    return { ...notIdentifiable(metric, source, n, why), ...(grain_bytes === undefined ? {} : { grain_bytes }) };
  });
}
