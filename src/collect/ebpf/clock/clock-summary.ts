/** What the timer did, what it cost and what it could not see: for the report and metadata.json. */
import type { StringTicks } from "../copies/beside-watches.ts";
import type { TickCost } from "./tick-cost.ts";

export interface ClockSummary {
  /** Samples per second and CPU that were asked for, and that the budget paid for. */
  readonly hz: { readonly wanted: number; readonly taken: number };
  readonly cost: TickCost;
  /** Share of each busy CPU that sampling it costs, in percent; part of the run's budget. */
  readonly budget_pct: number;
  readonly cpus: number;
  /** Samples of CPUs that were not idle. */
  readonly samples: number;
  /** CPU time that they stand for, in ns. */
  readonly sampled_ns: number;
  readonly foreign: number;
  readonly in_kernel: number;
  /** In 32-bit code, which is not decoded. */
  readonly other_mode: number;
  /** On a string instruction that repeats, in the program or in the kernel. */
  readonly in_string: number;
  /** The instruction accesses no memory. */
  readonly no_access: number;
  readonly no_code: number;
  readonly no_address: number;
  readonly rows: number;
  /** Samples near which the code accesses memory at a known place. */
  readonly located: number;
  /** Bytes of the blocks in which the program was most, as they were found last. */
  readonly hot_bytes: number;
}

/** What a reader of the figures must know. */
export function clockWarnings({ hz, cost, budget_pct }: ClockSummary): string[] {
  if (hz.taken >= hz.wanted) return [];
  const each = `${(cost.value / 1000).toFixed(1)} us each${cost.whyAssumed === null ? "" : ", assumed"}`;
  return [
    `the timer sampled ${hz.taken.toFixed(1)} times a second instead of ${hz.wanted}: ${budget_pct.toFixed(2)} % of a CPU pays for no more (${each}); raise --budget`,
  ];
}

/** What of it tells how much of the target's time went by in string instructions. */
export function stringTicks({
  samples,
  foreign,
  sampled_ns,
  in_string,
}: Pick<ClockSummary, "samples" | "foreign" | "sampled_ns" | "in_string">): StringTicks {
  return { ticks: samples - foreign, in_string, each_ns: samples > 0 ? sampled_ns / samples : 0 };
}
