/**
 * Looks at the target as a cost on its time: nobody may have waited for a lock, or one thread for as long as it was held. Who waits for it is a call that
 * changes the map (mm/mmap.c takes the lock to write), for one look each at most: a process that sleeps, or maps nothing, waits for none.
 */
import type { LookSum } from "../kernel/looks.ts";
import type { CollectorCost } from "./collector.ts";

/** @param calls of the target meanwhile that change its map; endless where nobody counts them */
export function lookCost({ what, count, ns, waits }: LookSum, calls = Number.POSITIVE_INFINITY): CollectorCost {
  const most = count === 0 ? 0 : (ns / count) * Math.min(1, calls / count);
  const each_ns = { value: most, lo: 0, hi: most };
  return { what, count, each_ns, ...(waits ? { is_budgeted: true as const } : {}) };
}
