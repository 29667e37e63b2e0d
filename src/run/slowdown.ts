/** What the run cost the target, from the calibrated costs and the counters of the run. */
import type { WatchSummary } from "../collect/ebpf/watch/watch.ts";
import { type EventCost, type ObserverCost, observerCost } from "../overhead/observer.ts";

/** Cost of one recorded page fault beyond the fault, in ns: docs/decisions/004-fault-source.md. */
const FAULT_NS = { value: 83, lo: 40, hi: 250 };
/** Cost of one uprobe hit in ns: two exceptions; about 1 us on bare metal, 10 us in a nested VM. */
const PROBE_NS = { value: 5000, lo: 500, hi: 12000 };
/** Cost of one recorded system call in ns. */
const CALL_NS = { value: 900, lo: 300, hi: 1800 };
/** A trap or retarget may cost half or twice what was calibrated, where the target's caches are fuller than ours. */
const SPREAD = 2;

export interface CostInput {
  readonly wall_ns: number;
  readonly cpus: number;
  readonly tracer_cpu_ns: number;
  readonly tracer_peak_rss_bytes: number;
  readonly target_cpu_ns: number | null;
  readonly faults: number;
  readonly probe_hits: number;
  readonly mapping_calls: number;
  readonly bpf_run_ns: number;
  readonly watch: WatchSummary | null;
}

function spread(value: number): EventCost["each_ns"] {
  return { value, lo: value / SPREAD, hi: value * SPREAD };
}

/** The observer's cost and the slowdown that it must have caused, as a model with an interval. */
export function costOfRun(input: CostInput): ObserverCost {
  const { watch } = input;
  const events: EventCost[] = [
    { what: "faults recorded", count: input.faults, each_ns: FAULT_NS },
    { what: "engine probes", count: input.probe_hits, each_ns: PROBE_NS },
    { what: "mapping calls", count: input.mapping_calls, each_ns: CALL_NS },
  ];
  if (watch !== null) {
    // Every CPU of the target has its own registers: a retarget interrupts each of them once.
    events.push({
      what: "watch retargets",
      count: watch.counts.armings * input.cpus,
      each_ns: spread(watch.calibration.retargetNs),
    });
  }
  return observerCost({
    wall_ns: input.wall_ns,
    cpus: input.cpus,
    tracer_cpu_ns: input.tracer_cpu_ns,
    tracer_peak_rss_bytes: input.tracer_peak_rss_bytes,
    target_cpu_ns: input.target_cpu_ns,
    programs: [],
    traps:
      watch === null
        ? null
        : { what: "watch traps", count: watch.counts.traps, each_ns: spread(watch.calibration.trapNs) },
    events,
  });
}
