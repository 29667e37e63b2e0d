/** Collecting what was made of watches: each metric leaves several KB for each watch behind, which is garbage before the next one begins. */
import { collectAfter } from "../../columnar/collect-after.ts";
import type { Group } from "./group.ts";

/** Exposures, each as often as it was gone over: some 80 MB. */
const COLLECT_AFTER = 1 << 14;

const gone = collectAfter(COLLECT_AFTER);

/** Tells that a metric, or a curve, went over the watches of a class or a region. */
export const workedOver = ({ every }: Pick<Group, "every">): void => gone(every.exposures.length);
