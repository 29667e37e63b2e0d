/** Watches for which there was no memory: figures are made without them, and what needs no figure is told of them too. */
import type { Labelled } from "../../label/label-run.ts";
import { regionAt } from "../../label/regions/region-map.ts";
import { formatCount } from "../../units.ts";
import type { WatchedTime } from "../heat/write-heat.ts";
import type { AnalysisInput } from "./input.ts";
import { regionTypeOf } from "./load-samples.ts";

/** Where and when each of them looked. */
export function* leftTimes({
  leftWatches,
  regions,
  regionIndex,
  origin_ns,
}: Pick<Labelled, "leftWatches" | "regions" | "regionIndex" | "origin_ns">): Generator<WatchedTime, void, void> {
  for (const { pid, addr, timestamp_ns, end_ns, region_type } of leftWatches.leftRows()) {
    const begin_ns = Number(timestamp_ns - origin_ns);
    const region = regionAt(regions, regionIndex.find(pid, Number(addr), begin_ns));
    yield {
      region_type: region?.region_type ?? regionTypeOf(String(region_type)),
      pid,
      addr,
      begin_ns,
      end_ns: Math.max(begin_ns, Number(end_ns - origin_ns)),
    };
  }
}

/**
 * One sentence for all of them; none where all watches were taken.
 * @param watches that were taken
 * @param gib of memory that take all of them; null where nobody knows
 */
export function leftWarnings(
  watches: number,
  { left_watches: left }: Pick<AnalysisInput, "left_watches">,
  gib: number | null,
): string[] {
  if (left === undefined) return [];
  const [some, all] = [formatCount(watches), formatCount(watches + left.length)];
  return [
    `figures are made of ${some} of ${all} watches, drawn at random: all that the memory for deriving holds. All accesses are in trace/, and more memory tells more sharply: mrm-trace analyse RUN_DIR --memory ${gib === null ? "2GiB, or more than that" : `${gib}GiB`}`,
  ];
}
