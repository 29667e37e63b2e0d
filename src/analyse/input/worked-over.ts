/** Collecting what was made of watches and steps: each metric leaves several KB for each watch behind, and arrays of all steps, which are garbage before the next one begins. */
import { collectGrown } from "../../columnar/collect-after.ts";

const COLLECT_AFTER_BYTES = 64 * 2 ** 20;

/** Tells that a metric, or a curve, went over the watches of a class or a region. */
export const workedOver = collectGrown(COLLECT_AFTER_BYTES);
