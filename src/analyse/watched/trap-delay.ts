/** What traps add to the time between two accesses: the program stands still in each of them, and only where it is watched. */
import { type Interval, interval } from "../../statistics/interval.ts";

/** What a trap takes on virtual machines, for recordings that do not say. */
const USUAL_TRAP_NS = 16_700;
/** A trap may take as much longer than their mean; of many together, less. */
const SPREAD = 2;
/** Where less than this share of a time is sure to be the program's own, it tells of the traps. */
const LEAST_OWN = 0.5;

export const TRAPPED = "times are as short as the traps take that it takes to see them";

export const meanTrapNs = (trap_cost_ns: number | null): number => trap_cost_ns ?? USUAL_TRAP_NS;

/**
 * The most that traps add to a time, ns: each its mean, and together twice the root of their number.
 * @param traps those from the first access on, without that at the end
 */
export const trapDelay = (traps: number, trap_ns: number): number => trap_ns * (traps + SPREAD * Math.sqrt(traps));

/** A time less what traps may have added to it, 0 at least. */
export const withoutTraps = (time_ns: number, traps: number, trap_ns: number): number =>
  Math.max(0, time_ns - trapDelay(traps, trap_ns));

export interface OwnTime {
  readonly estimate: Interval;
  /** Why there is no value, or no end; null where traps change neither. */
  readonly why: string | null;
}

/**
 * The estimate of a quantile of times, with a lower end that allows for the traps in them.
 * @param seen of the times as they were seen
 * @param shortest of the same times without what traps may have added
 */
export function allowingForTraps(seen: Interval, shortest: Interval): OwnTime {
  if (seen.lo === null && seen.value === null) return { estimate: seen, why: null };
  const lo = seen.lo === null ? null : Math.min(seen.lo, shortest.lo ?? 0);
  if (seen.value === null) {
    // A lower end of nothing tells nothing.
    const isNone = seen.hi === null && lo === 0 && (seen.lo ?? 0) > 0;
    return { estimate: interval(null, isNone ? null : lo, seen.hi), why: isNone ? TRAPPED : null };
  }
  const isTold = (shortest.value ?? 0) >= LEAST_OWN * seen.value;
  return { estimate: interval(isTold ? seen.value : null, lo, seen.hi), why: isTold ? null : TRAPPED };
}
