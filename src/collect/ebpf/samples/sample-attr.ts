/** The perf attribute of a sampled event, with the fields that a BPF program may read from a sample. */
import { type PerfAttr, READ_FORMAT, SAMPLE } from "../../../kernel/perf-event.ts";
import { kernelVersion, type SampleEvent } from "./sample-event.ts";

/** PERF_SAMPLE_WEIGHT_STRUCT came with Linux 5.12, and excludes PERF_SAMPLE_WEIGHT. */
const WEIGHT_STRUCT_SINCE = 5012;
const CLOCK_MONOTONIC = 1;

/**
 * The attribute of an event at one precise level.
 *
 * A clock of our own with PERF_SAMPLE_TIME keeps the kernel from collecting records in the CPU's buffer and showing a
 * BPF program only the last of each batch ("large PEBS": intel_pmu_hw_config in arch/x86/events/intel/core.c). That it
 * did is checked by the event's own count.
 */
export function sampleAttr(event: SampleEvent, precise: number, period: number, kernelRelease: string): PerfAttr {
  const weight = kernelVersion(kernelRelease) >= WEIGHT_STRUCT_SINCE ? SAMPLE.weight_struct : SAMPLE.weight;
  return {
    type: event.type,
    config: event.config,
    config1: event.config1,
    config2: event.config2,
    precise_ip: precise,
    sample_period: period,
    sample_type: SAMPLE.ip | SAMPLE.tid | SAMPLE.time | SAMPLE.addr | SAMPLE.data_src | weight,
    read_format: READ_FORMAT.total_time_enabled | READ_FORMAT.total_time_running,
    // The kernel's accesses on the program's behalf count, as a watch sees them; addresses of a guest mean nothing here.
    flags: ["disabled", "use_clockid", ...(event.canExclude ? (["exclude_hv", "exclude_guest"] as const) : [])],
    clockid: CLOCK_MONOTONIC,
  };
}

/** The attribute of a group's leader: it counts, and is never sampled. */
export function leaderAttr(event: SampleEvent, leader: NonNullable<SampleEvent["leader"]>): PerfAttr {
  return {
    type: event.type,
    config: leader.config,
    config1: leader.config1,
    config2: leader.config2,
    sample_period: 0,
    flags: ["disabled", "exclude_hv", "exclude_guest"],
  };
}
