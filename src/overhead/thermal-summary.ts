/** What heat did to a run: peak temperature, throttling and frequencies over its time, from the process stream. */
import type { Batch } from "../columnar/batch.ts";
import { numberAt } from "../columnar/cell.ts";

/** Of one run; null for what this machine does not tell, which `not_measured` says in words. */
export interface ThermalSummary {
  readonly samples: number;
  /** During the run: of all cores, or where more, of all packages. */
  readonly throttle_events: number | null;
  readonly core_throttle_events: number | null;
  readonly package_throttle_events: number | null;
  readonly throttled_ns: number | null;
  readonly start_temp_c: number | null;
  readonly peak_temp_c: number | null;
  readonly end_temp_c: number | null;
  readonly cpu_freq_min_mhz: number | null;
  /** Mean over samples of the mean over CPUs, idle ones included. */
  readonly cpu_freq_mean_mhz: number | null;
  readonly cpu_freq_max_mhz: number | null;
  /** Share of all CPU time that the host took, in %. */
  readonly steal_pct: number | null;
  readonly not_measured: readonly string[];
}

export interface ThermalUse {
  /** Looks at a batch of the process table. */
  take(batch: Batch): void;
  summary(): ThermalSummary;
}

const GAUGES = ["temperature_c", "cpu_freq_min_mhz", "cpu_freq_mean_mhz", "cpu_freq_max_mhz"] as const;
const COUNTERS = ["core_throttle_events", "package_throttle_events", "throttled_ns", "steal_ns"] as const;

interface Span {
  n: number;
  first: number;
  last: number;
  least: number;
  most: number;
  sum: number;
}

/** Why a machine may not tell; one sentence each. */
const ABSENT = {
  throttling:
    "throttling: no thermal_throttle counters below /sys/devices/system/cpu (virtual machines and AMD have none)",
  temperature: "temperature: no sensor in /sys/class/hwmon or /sys/class/thermal (virtual machines have none)",
  frequency: "frequency: no cpufreq, and /proc/cpuinfo has the nominal one only (as in most virtual machines)",
} as const;

function widen(span: Span | undefined, value: number): Span {
  if (span === undefined) return { n: 1, first: value, last: value, least: value, most: value, sum: value };
  span.n += 1;
  span.last = value;
  span.least = Math.min(span.least, value);
  span.most = Math.max(span.most, value);
  span.sum += value;
  return span;
}

/** @param cpus of this machine, for shares of all CPU time */
export function createThermalUse(cpus: number): ThermalUse {
  const spans = new Map<string, Span>();
  const grown = (name: string): number | null => {
    const span = spans.get(name);
    return span === undefined ? null : Math.max(0, span.last - span.first);
  };
  return {
    take({ rows, columns }) {
      for (let row = 0; row < rows; row++) {
        let read = false;
        for (const name of [...GAUGES, ...COUNTERS]) {
          const value = numberAt(columns[name], row);
          if (value === null) continue;
          spans.set(name, widen(spans.get(name), value));
          read = true;
        }
        const time_ns = numberAt(columns.timestamp_ns, row);
        if (read && time_ns !== null) spans.set("timestamp_ns", widen(spans.get("timestamp_ns"), time_ns));
        // Every row of one sample says the same of the machine.
        if (read) break;
      }
    },
    summary() {
      const temperature = spans.get("temperature_c");
      const mean = spans.get("cpu_freq_mean_mhz");
      const [cores, packages] = [grown("core_throttle_events"), grown("package_throttle_events")];
      const [wall_ns, steal_ns] = [grown("timestamp_ns"), grown("steal_ns")];
      const throttle_events = cores === null && packages === null ? null : Math.max(cores ?? 0, packages ?? 0);
      return {
        samples: spans.get("timestamp_ns")?.n ?? 0,
        throttle_events,
        core_throttle_events: cores,
        package_throttle_events: packages,
        throttled_ns: grown("throttled_ns"),
        start_temp_c: temperature?.first ?? null,
        peak_temp_c: temperature?.most ?? null,
        end_temp_c: temperature?.last ?? null,
        cpu_freq_min_mhz: spans.get("cpu_freq_min_mhz")?.least ?? null,
        cpu_freq_mean_mhz: mean === undefined ? null : mean.sum / mean.n,
        cpu_freq_max_mhz: spans.get("cpu_freq_max_mhz")?.most ?? null,
        steal_pct: steal_ns === null || !wall_ns ? null : (100 * steal_ns) / (wall_ns * cpus),
        not_measured: [
          ...(throttle_events === null ? [ABSENT.throttling] : []),
          ...(temperature === undefined ? [ABSENT.temperature] : []),
          ...(mean === undefined ? [ABSENT.frequency] : []),
        ],
      };
    },
  };
}
