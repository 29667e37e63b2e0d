/** What the observation cost: the tracer's own use, and a model of how much it slowed the target. */
import type { NumberInterval } from "../statistics/block-bootstrap.ts";

/** One cost that is paid on the target's own time, each time an event happens. */
export interface EventCost {
  /** Such as watch traps, or faults recorded. */
  readonly what: string;
  readonly count: number;
  /** Calibrated cost of one event in ns. */
  readonly each_ns: NumberInterval;
  /** True where each event is a trap of a debug register. */
  readonly is_trap?: boolean;
  /** True where --budget bounds it. */
  readonly is_budgeted?: boolean;
}

export interface ObserverInput {
  readonly wall_ns: number;
  readonly cpus: number;
  /** CPU time of the tracer during the run. */
  readonly tracer_cpu_ns: number;
  readonly tracer_peak_rss_bytes: number;
  /** CPU time of all processes of the target during the run; null where unknown. */
  readonly target_cpu_ns: number | null;
  /** Traps and retargets of watches, probes, page faults recorded: whatever the target pays for. */
  readonly events: readonly EventCost[];
}

export interface CostPart {
  readonly what: string;
  readonly count: number;
  readonly cost_ns: NumberInterval;
  /** Of the CPU time that the target would have used alone, in %; NaN where that is not known. */
  readonly cost_pct: number;
  /** False where --budget does not bound it: it happens whatever is spent. */
  readonly budgeted: boolean;
}

export interface ObserverCost {
  /** CPU time of the tracer in % of one CPU. */
  readonly cpu_pct: number;
  readonly rss_bytes: number;
  readonly traps: number;
  readonly trap_ns: number;
  readonly slowdown_pct: NumberInterval & { readonly method: "model" };
  /** Cost on the target's time by cause, in ns, most first. */
  readonly parts: readonly CostPart[];
}

function times(count: number, each: NumberInterval): NumberInterval {
  return { value: count * each.value, lo: count * each.lo, hi: count * each.hi };
}

/**
 * The observer's cost. Slowdown model: the sum of all costs on the target's time over the CPU time that the target
 * would have used without them. The upper end also takes the tracer's CPU time as stolen from the target in
 * proportion to the share of the CPUs that the target keeps busy, as if the scheduler never found an idle one.
 * NaN figures where the target's CPU time is unknown or zero.
 */
export function observerCost(input: ObserverInput): ObserverCost {
  const costs = input.events
    .map(({ what, count, each_ns, is_budgeted }) => ({
      what,
      count,
      cost_ns: times(count, each_ns),
      budgeted: is_budgeted === true,
    }))
    .sort((a, b) => b.cost_ns.value - a.cost_ns.value);
  const traps = input.events.filter(({ is_trap }) => is_trap === true);
  const targetCpu = input.target_cpu_ns ?? Number.NaN;
  const busyShare = Math.min(1, targetCpu / (input.wall_ns * input.cpus));
  const slowdown = (end: "value" | "lo" | "hi"): number => {
    const cost = costs.reduce((sum, part) => sum + part.cost_ns[end], 0);
    const contention = end === "hi" ? input.tracer_cpu_ns * busyShare : 0;
    // The costs are inside the CPU time that was measured; contention is not.
    const targetAlone = targetCpu - cost;
    return targetAlone > 0 ? (100 * (cost + contention)) / targetAlone : Number.NaN;
  };
  const alone = targetCpu - costs.reduce((sum, { cost_ns }) => sum + cost_ns.value, 0);
  const parts = costs.map((part) => ({
    ...part,
    cost_pct: alone > 0 ? (100 * part.cost_ns.value) / alone : Number.NaN,
  }));
  return {
    cpu_pct: (100 * input.tracer_cpu_ns) / input.wall_ns,
    rss_bytes: input.tracer_peak_rss_bytes,
    traps: traps.reduce((sum, { count }) => sum + count, 0),
    trap_ns: Math.round(traps.reduce((sum, { count, each_ns }) => sum + count * each_ns.value, 0)),
    slowdown_pct: { value: slowdown("value"), lo: slowdown("lo"), hi: slowdown("hi"), method: "model" },
    parts,
  };
}
