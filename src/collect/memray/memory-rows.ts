/** Rows of `allocation_memory`: resident and allocated bytes over time. */
import type { Batch } from "../../columnar/batch.ts";
import { batchFromRows } from "../../columnar/rows.ts";
import type { RowOf } from "../../schema/row.ts";
import type { Bracket, TimeAxis } from "./time-axis.ts";

const BATCH_ROWS = 4096;

export interface MemoryRows {
  readonly records: number;
  /** `liveAllocations` is null where it is not known. */
  add(msSinceStart: number, rss: number, liveBytes: number, liveAllocations: number | null, axis: TimeAxis): void;
  /** Full batches; with `all`, also what does not fill one. */
  take(all: boolean): Batch<"allocation_memory">[];
}

/** Rows of one process. */
export function openMemoryRows(pid: number): MemoryRows {
  let rows: RowOf<"allocation_memory">[] = [];
  let records = 0;
  const bracket: Bracket = { time_ns: 0, error_ns: 0 };
  return {
    get records() {
      return records;
    },
    add(msSinceStart, rss, liveBytes, liveAllocations, axis) {
      records += 1;
      axis.moment(msSinceStart, bracket);
      rows.push({
        timestamp_ns: BigInt(Math.round(bracket.time_ns)),
        error_ns: BigInt(Math.round(bracket.error_ns)),
        pid,
        rss_bytes: BigInt(rss),
        live_bytes: BigInt(liveBytes),
        live_allocations: liveAllocations === null ? null : BigInt(liveAllocations),
      });
    },
    take(all) {
      if (rows.length === 0 || (!all && rows.length < BATCH_ROWS)) return [];
      const batch = batchFromRows("allocation_memory", rows);
      rows = [];
      return [batch];
    },
  };
}
