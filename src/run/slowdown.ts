/** What the run cost the target, from the calibrated costs and the counters of the run. */
import type { WatchSummary } from "../collect/ebpf/watch/watch.ts";
import type { BpfCost } from "../kernel/bpf-costs.ts";
import { type EventCost, type ObserverCost, observerCost } from "../overhead/observer.ts";

/** Where no probe could be timed: 1 us on bare metal, 10 us in a nested VM. */
const ASSUMED_PROBE_NS = { value: 5000, lo: 500, hi: 12_000 };
/** A trap, retarget or probe may cost half or twice what was calibrated, where the target's caches are fuller than ours. */
const SPREAD = 2;

export interface CostInput {
  readonly wall_ns: number;
  readonly cpus: number;
  readonly tracer_cpu_ns: number;
  readonly tracer_peak_rss_bytes: number;
  readonly target_cpu_ns: number | null;
  readonly probe_hits: number;
  /** Calibrated cost of a probe hit; null where it could not be measured. */
  readonly probe_cost_ns: number | null;
  readonly programs: readonly BpfCost[];
  readonly watch: WatchSummary | null;
}

function spread(value: number): EventCost["each_ns"] {
  return { value, lo: value / SPREAD, hi: value * SPREAD };
}

/** The observer's cost and the slowdown that it must have caused, as a model with an interval. */
export function costOfRun(input: CostInput): ObserverCost {
  const { watch } = input;
  const each_ns = input.probe_cost_ns === null ? ASSUMED_PROBE_NS : spread(input.probe_cost_ns);
  const events: EventCost[] = [{ what: "engine probes", count: input.probe_hits, each_ns }];
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
    // The engine's programs run inside the probes that are counted with their exceptions, watch_trap inside the traps.
    programs: input.programs
      .filter(({ name }) => name !== "watch_trap" && !name.startsWith("engine_"))
      .map(({ name, run_ns, sampled_runs, sampled_share }) => ({
        name,
        run_time_ns: run_ns,
        run_count: sampled_share > 0 ? Math.round(sampled_runs / sampled_share) : 0,
      })),
    traps:
      watch === null
        ? null
        : { what: "watch traps", count: watch.counts.traps, each_ns: spread(watch.calibration.trapNs) },
    events,
  });
}
