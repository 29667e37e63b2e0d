/** The origin of a run: every time after capture is a number of ns since it, exact for 104 days. */
import type { DuckDBValue } from "@duckdb/node-api";
import { columnsOf, STREAMS, type StreamName } from "../schema/columns.ts";
import type { Capture } from "./capture.ts";
import { type Database, parquetScan } from "./database.ts";

/** A time of CLOCK_MONOTONIC as ns since the origin; null stays null. */
export function relativeNs(time: DuckDBValue | undefined, originNs: bigint): number | null {
  return typeof time === "bigint" ? Number(time - originNs) : null;
}

export interface TimeBounds {
  readonly first: bigint;
  readonly last: bigint;
}

export interface RunWindow {
  /** First time seen in any stream, CLOCK_MONOTONIC ns. */
  readonly origin_ns: bigint;
  /** From the origin to the last time seen, ns. */
  readonly window_ns: number;
  /** First and last time of each segment by its path; those whose times cannot be read are left out. */
  readonly times: ReadonlyMap<string, TimeBounds>;
}

/** The times between which anything was captured; an empty capture has an empty window at 0. */
export async function runWindow(database: Database, capture: Capture): Promise<RunWindow> {
  let first: bigint | null = null;
  let last: bigint | null = null;
  const times = new Map<string, TimeBounds>();
  for (const stream of STREAMS) {
    for (const segment of capture.segments[stream]) {
      const bounds = await timeBounds(database, stream, segment.path);
      if (bounds === null) continue;
      times.set(segment.path, bounds);
      if (first === null || bounds.first < first) first = bounds.first;
      if (last === null || bounds.last > last) last = bounds.last;
    }
  }
  if (first === null || last === null) return { origin_ns: 0n, window_ns: 0, times };
  return { origin_ns: first, window_ns: Number(last - first), times };
}

/** Least and greatest time in one segment; null when its times cannot be read. */
async function timeBounds(database: Database, stream: StreamName, path: string): Promise<TimeBounds | null> {
  const last = columnsOf(stream).some((column) => column.name === "end_ns")
    ? "max(greatest(timestamp_ns, coalesce(end_ns, timestamp_ns)))"
    : "max(timestamp_ns)";
  try {
    const rows = await database.rows(`SELECT min(timestamp_ns) AS first, ${last} AS last FROM ${parquetScan([path])}`);
    const row = rows[0];
    if (typeof row?.first !== "bigint" || typeof row.last !== "bigint") return null;
    return { first: row.first, last: row.last };
  } catch {
    // Whoever reads the segment itself will count it as skipped, with the reason.
    return null;
  }
}
