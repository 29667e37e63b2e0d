/** A cost that was calibrated on a loop of our own, as the cost of an event on the target's time. */
import type { CollectorCost } from "./collector.ts";

/** A trap or retarget may cost half or twice what was calibrated, where the target's caches are fuller than ours. */
const SPREAD = 2;

/** @param ns calibrated @param most how many times as much it may be */
export function calibratedCost(ns: number, most = SPREAD): CollectorCost["each_ns"] {
  return { value: ns, lo: ns / SPREAD, hi: ns * most };
}
