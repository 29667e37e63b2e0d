/** Looks at the target as a cost on its time: nobody may have waited for a lock, or one thread for as long as it was held. */
import type { LookSum } from "../kernel/looks.ts";
import type { CollectorCost } from "./collector.ts";

export function lookCost({ what, count, ns, waits }: LookSum): CollectorCost {
  const mean = count === 0 ? 0 : ns / count;
  const each_ns = { value: mean, lo: 0, hi: mean };
  return { what, count, each_ns, ...(waits ? { is_budgeted: true as const } : {}) };
}
