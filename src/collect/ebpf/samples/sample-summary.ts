/** What sampling did, what it cost and what it could not see: for the report and the run's validity. */
import type { CountCheck } from "./count-check.ts";
import type { SampleSource } from "./sample-event.ts";

export interface EventSummary extends CountCheck {
  readonly name: string;
  readonly pmu: string;
  readonly precise: number;
  readonly cpus: number;
  /** Events per sample at the end, before it was varied. */
  readonly period: number;
  readonly samples: number;
  /** What the PMU counted, on all CPUs. */
  readonly count: number;
}

export interface SampleSummary {
  readonly source: SampleSource;
  /** That no run of this source on its hardware has been recorded. */
  readonly hardware: string;
  readonly events: readonly EventSummary[];
  /** Events that the kernel refused, and could be done without. */
  readonly refused: readonly string[];
  readonly samples: number;
  readonly rows: number;
  readonly foreign: number;
  readonly not_memory: number;
  readonly kernel_address: number;
  /** Times that the kernel stopped an event until its next tick. */
  readonly throttled: number;
  /** kernel.perf_event_max_sample_rate before and after: the kernel lowers it for the whole machine. */
  readonly max_sample_rate: { readonly before: number | null; readonly after: number | null };
  /** Samples by what their data source says. */
  readonly data_sources: Readonly<Record<string, number>>;
  /** Assumed cost of a sample: it was not measured. */
  readonly assumed_sample_ns: number;
}

/** Below this share of the samples that the PMU must have made, the program was kept from most of them. */
const LEAST_CAUGHT = 0.9;
const LEAST_RUNNING = 0.99;

/** What a reader of the figures must know. */
export function sampleWarnings(summary: SampleSummary): string[] {
  const { source, hardware, events, throttled, max_sample_rate, refused } = summary;
  const out = [`the source ${source} is ${hardware}: check its figures against another tool`];
  for (const { name, pmu, caught, running, count, samples } of events) {
    const what = `${name} of ${pmu}`;
    if (samples === 0) out.push(`${what} gave no sample${count > 0 ? `, though the PMU counted ${count}` : ""}`);
    else if (caught !== null && caught < LEAST_CAUGHT) {
      out.push(
        `only ${(100 * caught).toFixed(1)} % of the samples of ${what} reached our program: the kernel may hold them back in batches`,
      );
    }
    if (running < LEAST_RUNNING) {
      out.push(`${what} had a counter in ${(100 * running).toFixed(1)} % of the time: others use the PMU`);
    }
  }
  for (const why of refused) out.push(`not sampled: ${why}`);
  if (throttled > 0) {
    const share = Math.max(...events.map(({ stopped }) => stopped));
    out.push(
      `the kernel throttled sampling ${throttled} times, for up to ${Number((100 * share).toPrecision(2))} % of an event's time: rates are too low there`,
    );
  }
  if (max_sample_rate.before !== max_sample_rate.after) {
    out.push(
      `the kernel lowered perf_event_max_sample_rate from ${max_sample_rate.before} to ${max_sample_rate.after} for the whole machine`,
    );
  }
  return out;
}
