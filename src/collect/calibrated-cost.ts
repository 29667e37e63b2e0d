/** A cost that was calibrated on a loop of our own, as the cost of an event on the target's time. */
import type { CollectorCost } from "./collector.ts";

/** A trap, retarget or probe may cost half or twice what was calibrated, where the target's caches are fuller than ours. */
const SPREAD = 2;

/** @param ns calibrated */
export function calibratedCost(ns: number): CollectorCost["each_ns"] {
  return { value: ns, lo: ns / SPREAD, hi: ns * SPREAD };
}
