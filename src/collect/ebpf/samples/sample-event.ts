/** An event whose samples are loads or stores, as the choice hands it to the source. */
import type { ConfigWords } from "./event-terms.ts";

export type SampleSource = "pebs" | "ibs";

export interface SampleEvent extends ConfigWords {
  /** all_loads, load_latency, all_stores or ops. */
  readonly name: string;
  readonly pmu: string;
  /** `type` of perf_event_attr. */
  readonly type: number;
  /** CPUs that have the PMU; null for all. */
  readonly cpus: readonly number[] | null;
  /** What every sample of it is; null where each sample says it. */
  readonly op: "load" | "store" | null;
  /** False where the event counts only accesses that the PMU tagged: its samples tell levels and latencies, no totals. */
  readonly counts: boolean;
  /** True where the weight of a sample is a latency. */
  readonly latency: boolean;
  /** Highest precise level to ask for; the PMU may allow less. 0 where the event has no levels. */
  readonly mostPrecise: number;
  /** Least precise level whose samples still carry an address. */
  readonly leastPrecise: number;
  /** False where the PMU takes no exclusion of any kind. */
  readonly canExclude: boolean;
  /** An event that must lead the group on this PMU, or the kernel refuses (ENODATA). */
  readonly leader: ConfigWords | null;
  /** Periods are multiples of this. */
  readonly periodStep: number;
  /** Events per sample to begin with. */
  readonly startPeriod: number;
  /** Part of the budget for samples on a CPU. */
  readonly share: number;
}

export type EventChoice =
  | { readonly ok: true; readonly source: SampleSource; readonly events: readonly SampleEvent[] }
  | { readonly ok: false; readonly source: SampleSource; readonly reason: string; readonly hint: string };

/** Kernel version as major * 1000 + minor of a release such as 6.12.117+deb12; 0 where it is none. */
export function kernelVersion(release: string): number {
  const match = /^(\d{1,4})\.(\d{1,3})/.exec(release);
  return match ? Number(match[1]) * 1000 + Number(match[2]) : 0;
}
