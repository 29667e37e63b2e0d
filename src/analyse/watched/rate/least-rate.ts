/** The least that a rate can be, by how many watches saw such a pass soon: what came after it, and may have ended the watch, does not matter. */
import { clopperPearson, effectiveSize } from "../../../statistics/clopper-pearson.ts";
import { CI_LEVEL } from "../../../statistics/interval.ts";
import { coveredNs } from "../../input/span.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { passesBetween } from "../counting/count-window.ts";

/** Times after an arming that are tried: each has the room of one of so many. */
const TIMES = 3;
const SHORTER = 6;
const LEVEL = 1 - (1 - CI_LEVEL) / TIMES;

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * Passes per second and byte, at least. As many windows as hold one or more have one: their share, by Clopper-Pearson, over the time
 * that windows have is no more than the rate, however many each holds. Long windows find more, short ones lose fewer that follow another.
 * @param isOf whether a pass of an exposure counts
 */
export function leastRate(
  { exposures, weights: { bytes }, span, gap_ns }: WatchSet,
  isOf: (exposure: number, pass: number) => boolean,
): number {
  const size = effectiveSize(bytes);
  const total = bytes.reduce((sum, w) => sum + w, 0);
  if (!(total > 0)) return 0;
  const longest = median(exposures.map(({ begin_ns, window_end_ns }) => window_end_ns - begin_ns)) - gap_ns;
  let least = 0;
  for (let tried = 0, length = longest; tried < TIMES && length > 0; tried++, length /= SHORTER) {
    let showing = 0;
    let time = 0;
    exposures.forEach((exposure, i) => {
      const begin = exposure.begin_ns + gap_ns;
      const end = begin + length;
      const w = bytes[i] ?? 0;
      time += w * coveredNs(span, begin, end);
      if (passesBetween(exposure, begin, end).some((pass) => isOf(i, pass))) showing += w;
    });
    const share = clopperPearson((showing / total) * size, size, LEVEL).lo ?? 0;
    if (time > 0) least = Math.max(least, (1e9 * share * total) / time);
  }
  return least;
}
