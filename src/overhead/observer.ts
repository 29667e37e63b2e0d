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
  /** Of interrupts of so many CPUs in turn, which cost the target what falls on it while it runs; absent where it pays for each event. */
  readonly interrupted_cpus?: number;
}

export interface ObserverInput {
  readonly wall_ns: number;
  readonly cpus: number;
  /** CPU time of the tracer during the run. */
  readonly tracer_cpu_ns: number;
  readonly tracer_peak_rss_bytes: number;
  /** CPU time of all processes of the target during the run; null where unknown. */
  readonly target_cpu_ns: number | null;
  /** Time that threads of the target could run and waited for a CPU; null where the kernel does not tell. */
  readonly target_run_delay_ns: number | null;
  /** CPU time of the threads that waited, each by its share of the waiting; null where not known. */
  readonly target_waiter_cpu_ns: number | null;
  /** CPU time of everything that ran on the machine; null where not known. */
  readonly machine_busy_ns: number | null;
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
  /** Time that the target waited for a CPU which the tracer had, in % of the target's CPU time; null where not measured. */
  readonly contention_pct: number | null;
  readonly rss_bytes: number;
  readonly traps: number;
  readonly trap_ns: number;
  readonly slowdown_pct: NumberInterval & { readonly method: "model" };
  /** Cost on the target's time by cause, in ns, most first. */
  readonly parts: readonly CostPart[];
}

/** Standard errors of a share to each side: 95 % of the time it is no farther away. */
const ERRORS = 1.96;

/** The share of interrupts that find the target running, as they come at times that do not depend on it, with the chance of so few; 1 where the target pays for each. */
function shareHit({ count, interrupted_cpus }: EventCost, { target_cpu_ns, wall_ns }: ObserverInput): NumberInterval {
  if (interrupted_cpus === undefined || target_cpu_ns === null || !(wall_ns > 0)) return { value: 1, lo: 1, hi: 1 };
  const share = Math.min(1, target_cpu_ns / (wall_ns * Math.max(1, interrupted_cpus)));
  const reach = ERRORS * Math.sqrt((share * (1 - share)) / Math.max(1, count));
  return { value: share, lo: Math.max(0, share - reach), hi: Math.min(1, share + reach) };
}

function costOf(event: EventCost, input: ObserverInput): NumberInterval {
  const { count, each_ns } = event;
  const share = shareHit(event, input);
  return {
    value: count * share.value * each_ns.value,
    lo: count * share.lo * each_ns.lo,
    hi: count * share.hi * each_ns.hi,
  };
}

/**
 * Time that the target waited for a CPU because the tracer had it, in ns: of all its waiting, the tracer's share of the CPU
 * time that any but the waiting threads had, and never more than the tracer used. While a thread waits, others of the target
 * have CPUs too. Null where the kernel does not tell the waiting.
 */
function contentionNs(input: ObserverInput): number | null {
  const { tracer_cpu_ns, target_run_delay_ns: waited_ns, machine_busy_ns, target_cpu_ns } = input;
  if (waited_ns === null) return null;
  const target_ns = target_cpu_ns ?? 0;
  // Where it is not known who waited, it may have been the thread that ran most.
  const siblings_ns = Math.max(0, target_ns - (input.target_waiter_cpu_ns ?? target_ns));
  // Where nobody else is known, all of the waiting may be for the tracer.
  const others_ns = Math.max(0, (machine_busy_ns ?? 0) - target_ns - tracer_cpu_ns);
  return tracer_cpu_ns > 0 ? tracer_cpu_ns * Math.min(1, waited_ns / (tracer_cpu_ns + others_ns + siblings_ns)) : 0;
}

/**
 * The observer's cost. Slowdown model: the sum of all costs on the target's time over the CPU time that the target
 * would have used without them. The upper end also has the time that the target waited for CPUs which the
 * tracer had; where that is not measured, the tracer's CPU time in proportion to the share of the CPUs that the target keeps
 * busy, as if the scheduler never found an idle one.
 * NaN figures where the target's CPU time is unknown or zero.
 */
export function observerCost(input: ObserverInput): ObserverCost {
  const costs = input.events
    .map((event) => ({
      what: event.what,
      count: event.count,
      cost_ns: costOf(event, input),
      budgeted: event.is_budgeted === true,
    }))
    .sort((a, b) => b.cost_ns.value - a.cost_ns.value);
  const traps = input.events.filter(({ is_trap }) => is_trap === true);
  const targetCpu = input.target_cpu_ns ?? Number.NaN;
  const busyShare = Math.min(1, targetCpu / (input.wall_ns * input.cpus));
  const contention_ns = contentionNs(input);
  const slowdown = (end: "value" | "lo" | "hi"): number => {
    const cost = costs.reduce((sum, part) => sum + part.cost_ns[end], 0);
    const contention = end === "hi" ? (contention_ns ?? input.tracer_cpu_ns * busyShare) : 0;
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
    contention_pct: contention_ns !== null && targetCpu > 0 ? (100 * contention_ns) / targetCpu : null,
    rss_bytes: input.tracer_peak_rss_bytes,
    traps: traps.reduce((sum, { count }) => sum + count, 0),
    trap_ns: Math.round(traps.reduce((sum, { count, each_ns }) => sum + count * each_ns.value, 0)),
    slowdown_pct: { value: slowdown("value"), lo: slowdown("lo"), hi: slowdown("hi"), method: "model" },
    parts,
  };
}
