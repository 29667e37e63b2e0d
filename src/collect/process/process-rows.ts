/** Rows of the process stream, gathered into one batch. */
import type { Batch } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { RowOf } from "../../schema/row.ts";
import type { ProcMemory, ProcStat } from "../../target/proc-text.ts";
import { TICK_NS } from "../../target/proc-text.ts";
import type { SensorReading } from "./sensors.ts";

/** The machine at one sample. */
export interface MachineSample {
  readonly psi_cpu_some_ns: bigint | null;
  readonly psi_memory_some_ns: bigint | null;
  readonly mem_available_bytes: bigint | null;
  /** Null between two readings, which are further apart than samples. */
  readonly sensors:
    | (SensorReading & { readonly steal_ns: bigint | null; readonly machine_busy_ns: bigint | null })
    | null;
}

export interface ProcessSample {
  readonly timestamp_ns: bigint;
  readonly pid: number;
  readonly role: "target" | "tracer";
  readonly stat: ProcStat;
  readonly memory: ProcMemory;
  readonly pss_bytes: bigint | null;
  readonly run_delay_ns: bigint | null;
  readonly waiter_cpu_ns: bigint | null;
  readonly busy_threads: number | null;
  readonly read_bytes: bigint | null;
  readonly write_bytes: bigint | null;
  readonly machine: MachineSample;
}

/** A sample under the names of the columns. */
function rowOf(sample: ProcessSample): RowOf<"process"> {
  const { stat, memory, machine, ...processFigures } = sample;
  const { sensors, ...pressure } = machine;
  const counted = (value: number | null | undefined): bigint | null => (value == null ? null : BigInt(value));
  return {
    ...processFigures,
    ...memory,
    ...pressure,
    temperature_c: sensors?.temperature_c ?? null,
    core_throttle_events: counted(sensors?.core_throttle_events),
    package_throttle_events: counted(sensors?.package_throttle_events),
    throttled_ns: counted(sensors?.throttled_ns),
    cpu_freq_min_mhz: sensors?.cpu_freq_min_mhz ?? null,
    cpu_freq_mean_mhz: sensors?.cpu_freq_mean_mhz ?? null,
    cpu_freq_max_mhz: sensors?.cpu_freq_max_mhz ?? null,
    steal_ns: sensors?.steal_ns ?? null,
    machine_busy_ns: sensors?.machine_busy_ns ?? null,
    minor_faults: stat.minor_faults,
    major_faults: stat.major_faults,
    threads: stat.threads,
    cpu_user_ns: stat.user_ticks * TICK_NS,
    cpu_system_ns: stat.system_ticks * TICK_NS,
  };
}

/** The samples as one batch of the process table. */
export function processBatch(samples: readonly ProcessSample[]): Batch<"process"> {
  return batchFromRows("process", samples.map(rowOf));
}
