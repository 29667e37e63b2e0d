/** What goes on while the memory of a stratum is there, as the draws that fell on it tell. */

import { coveredNs, isInside } from "../input/span.ts";
import type { WatchSet } from "../input/watch-set.ts";

/**
 * How much of something goes on in a ns of the time of the span in which the memory of some draws is there, in the mean over its bytes: memory of
 * requests may be there only while steps go on, and what a step uses between steps too. Each draw is a byte at a moment, and tells of the
 * time of its memory; one of a moment outside of the span tells of other memory.
 * @param members exposures
 * @param between how much of it there is from one moment to another
 * @returns null where no draw is of a moment in the span
 */
export function meanInLives(
  { exposures, weights, span }: WatchSet,
  members: readonly number[],
  between: (from: number, end: number) => number,
): number | null {
  const lives = Map.groupBy(
    members.filter((i) => isInside(span, exposures[i]?.armed_ns ?? Number.NaN)),
    (i) => `${Math.max(0, exposures[i]?.watch.region_birth_ns ?? 0)}/${exposures[i]?.watch.region_death_ns ?? ""}`,
  );
  let sum = 0;
  let all = 0;
  for (const same of lives.values()) {
    const watch = exposures[same[0] ?? 0]?.watch;
    const birth = Math.max(0, watch?.region_birth_ns ?? 0);
    const death = watch?.region_death_ns ?? Number.POSITIVE_INFINITY;
    const lived = coveredNs(span, birth, death);
    if (!(lived > 0)) continue;
    const bytes = same.reduce((total, i) => total + (weights.bytes[i] ?? 0), 0);
    all += bytes;
    sum += (bytes * between(birth, death)) / lived;
  }
  return all > 0 ? sum / all : null;
}
