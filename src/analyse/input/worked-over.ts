/** Collecting what metrics made of many watches: each leaves several KB for each watch behind, which is garbage before the next one begins. */
import { collectAfter } from "../../columnar/collect-after.ts";
import type { Group } from "./group.ts";

/** Of fewer watches the garbage is small, and looking for it takes longer than what made it. */
const MANY = 4096;
/** Exposures, each as often as it was gone over. */
const COLLECT_AFTER = 1 << 14;

const gone = collectAfter(COLLECT_AFTER);

/** Tells that a metric, or a curve, went over the watches of a group. */
export function workedOver({ every }: Group): void {
  if (every.exposures.length >= MANY) gone(every.exposures.length);
}
