/** Rows of `allocation_total`: what a capture held, by function and as a whole. */
import type { Batch } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { RowOf } from "../../schema/row.ts";
import type { SiteTotals } from "./capture-summary.ts";
import { ALLOCATORS } from "./format/allocator.ts";
import type { LifetimeTotals } from "./lifetimes.ts";
import type { Bracket } from "./time-axis.ts";

/** What names the whole of a process. */
const ALL = "all";

interface Sums {
  readonly allocations: number | null;
  readonly allocatedBytes: number | null;
  readonly peakBytes: number;
  readonly liveAllocations: number;
  readonly liveBytes: number;
}

function row(pid: number, end: Bracket, allocator: string, sums: Sums): RowOf<"allocation_total"> {
  const whole = (value: number | null): bigint | null => (value === null ? null : BigInt(value));
  return {
    timestamp_ns: BigInt(Math.round(end.time_ns)),
    error_ns: BigInt(Math.round(end.error_ns)),
    pid,
    allocator,
    allocations: whole(sums.allocations),
    allocated_bytes: whole(sums.allocatedBytes),
    peak_bytes: BigInt(sums.peakBytes),
    live_allocations: BigInt(sums.liveAllocations),
    live_bytes: BigInt(sums.liveBytes),
  };
}

/** One row for all of a process and one for each function that it called. @param end when the capture ended */
export function lifetimeTotals(pid: number, end: Bracket, totals: LifetimeTotals): Batch<"allocation_total"> {
  const parts = totals.byAllocator.flatMap((sums, i) =>
    sums.allocations > 0 ? [row(pid, end, ALLOCATORS[i] ?? "", sums)] : [],
  );
  return batchFromRows("allocation_total", [row(pid, end, ALL, totals), ...parts]);
}

/** One row for all of a process: an aggregated capture has no more than its peak and its end. */
export function siteTotals(pid: number, end: Bracket, sums: SiteTotals): Batch<"allocation_total"> {
  const { peakBytes, leakedAllocations, leakedBytes } = sums;
  const all = { peakBytes, liveAllocations: leakedAllocations, liveBytes: leakedBytes };
  return batchFromRows("allocation_total", [row(pid, end, ALL, { allocations: null, allocatedBytes: null, ...all })]);
}
