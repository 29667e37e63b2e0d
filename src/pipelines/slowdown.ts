/** What the run cost the target, from the calibrated costs and the counters of the run. */
import type { WatchSummary } from "../collect/ebpf/watch/watch.ts";
import type { BpfCost } from "../kernel/bpf-costs.ts";
import { type EventCost, type ObserverCost, observerCost } from "../overhead/observer.ts";

/** Where no probe could be timed: 1 us on bare metal, 10 us in a nested VM. */
const ASSUMED_PROBE_NS = { value: 5000, lo: 500, hi: 12_000 };
/** Where none of the programs ran while their time was sampled. */
const ASSUMED_RUN_NS = { value: 150, lo: 50, hi: 500 };
/** What the kernel does around a program, which its run time leaves out. */
const DISPATCH_NS = 50;
/** A trap, retarget or probe may cost half or twice what was calibrated, where the target's caches are fuller than ours. */
const SPREAD = 2;

export interface CostInput {
  readonly wall_ns: number;
  readonly cpus: number;
  readonly tracer_cpu_ns: number;
  readonly tracer_peak_rss_bytes: number;
  readonly target_cpu_ns: number | null;
  readonly probe_hits: number;
  readonly faults: number;
  readonly mapping_calls: number;
  /** Calibrated cost of a probe hit; null where it could not be measured. */
  readonly probe_cost_ns: number | null;
  readonly programs: readonly BpfCost[];
  readonly watch: WatchSummary | null;
  /** Costs that other collectors account for themselves. */
  readonly others: readonly EventCost[];
}

function spread(value: number): EventCost["each_ns"] {
  return { value, lo: value / SPREAD, hi: value * SPREAD };
}

/**
 * Cost of one run of the programs of a kind: their mean time and what the kernel does to get there. The mean is over the
 * runs for other processes too, which return early: a run that records may cost three times as much.
 */
function runOf(programs: readonly BpfCost[], kind: RegExp): EventCost["each_ns"] {
  const sampled = programs.filter(({ name, sampled_runs }) => kind.test(name) && sampled_runs > 0);
  const runs = sampled.reduce((sum, program) => sum + program.sampled_runs, 0);
  if (runs === 0) return ASSUMED_RUN_NS;
  const mean = sampled.reduce((sum, { run_ns, sampled_share }) => sum + run_ns * sampled_share, 0) / runs;
  return { value: mean + DISPATCH_NS, lo: mean, hi: 3 * mean + 2 * DISPATCH_NS };
}

/** The observer's cost and the slowdown that it must have caused, as a model with an interval. */
export function costOfRun(input: CostInput): ObserverCost {
  const { watch } = input;
  const each_ns = input.probe_cost_ns === null ? ASSUMED_PROBE_NS : spread(input.probe_cost_ns);
  const events: EventCost[] = [
    { what: "engine probes", count: input.probe_hits, each_ns },
    { what: "faults recorded", count: input.faults, each_ns: runOf(input.programs, /^fault_/) },
    { what: "mapping calls entered", count: input.mapping_calls, each_ns: runOf(input.programs, /^enter_/) },
    { what: "mapping calls left", count: input.mapping_calls, each_ns: runOf(input.programs, /^exit_/) },
    ...input.others,
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
    // Programs on tracepoints run for every process of the machine: the target pays for its own events only, above.
    programs: [],
    traps:
      watch === null
        ? null
        : { what: "watch traps", count: watch.counts.traps, each_ns: spread(watch.calibration.trapNs) },
    events,
  });
}
