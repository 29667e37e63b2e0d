/** The origin of a run: every time after capture is a number of ns since it, exact for 104 days. */
import type { DuckDBValue } from "@duckdb/node-api";
import { MrmTraceError } from "../../errors.ts";
import { columnsOf, STREAMS, type StreamName } from "../../schema/columns.ts";
import { type Database, parquetScan } from "../../sql/database.ts";
import type { Capture } from "../capture/capture.ts";

/** A time of CLOCK_MONOTONIC as ns since the origin; null stays null. */
export function relativeNs(time: DuckDBValue | undefined, originNs: bigint): number | null {
  return typeof time === "bigint" ? Number(time - originNs) : null;
}

const DAY_NS = 86_400_000_000_000n;
const LONGEST_NS = 2n ** 53n;

export interface TimeBounds {
  readonly first: bigint;
  readonly last: bigint;
}

export interface RunWindow {
  /** First time seen in any stream, CLOCK_MONOTONIC ns; that an engine was recognised may be known before anything is recorded. */
  readonly origin_ns: bigint;
  /** From the origin to the last time seen, ns. */
  readonly window_ns: number;
  /** First and last time of each segment by its path; those whose times cannot be read are left out. */
  readonly times: ReadonlyMap<string, TimeBounds>;
}

/**
 * The times between which anything was captured; an empty capture has an empty window at 0.
 * @throws MrmTraceError data_quality, where they lie farther apart than numbers of ns are exact
 */
export async function runWindow(database: Database, capture: Capture): Promise<RunWindow> {
  let recorded: bigint | null = null;
  let earliest: bigint | null = null;
  let last: bigint | null = null;
  const times = new Map<string, TimeBounds>();
  for (const stream of STREAMS) {
    const paths = capture.segments[stream].map((segment) => segment.path);
    for (const [path, { recorded: from, ...bounds }] of await timeBounds(database, stream, paths)) {
      times.set(path, bounds);
      if (from !== null && (recorded === null || from < recorded)) recorded = from;
      if (earliest === null || bounds.first < earliest) earliest = bounds.first;
      if (last === null || bounds.last > last) last = bounds.last;
    }
  }
  const first = recorded ?? earliest;
  if (first === null || last === null) return { origin_ns: 0n, window_ns: 0, times };
  if (last - first > LONGEST_NS) {
    throw new MrmTraceError(
      "data_quality",
      `the times of the capture lie ${(last - first) / DAY_NS} days apart, more than the ${LONGEST_NS / DAY_NS} that are told exactly`,
      "run mrm-trace verify RUN_DIR: it says which file was changed, or is of another recording",
    );
  }
  return { origin_ns: first, window_ns: Number(last - first), times };
}

interface SegmentTimes extends TimeBounds {
  /** First time of what was recorded: an engine that is recognised, or given probes, is none of that; null where there is nothing else. */
  readonly recorded: bigint | null;
}

/** Least and greatest time of each segment; those whose times cannot be read are left out. */
async function timeBounds(
  database: Database,
  stream: StreamName,
  paths: readonly string[],
): Promise<ReadonlyMap<string, SegmentTimes>> {
  const found = new Map<string, SegmentTimes>();
  if (paths.length === 0) return found;
  const last = columnsOf(stream).some((column) => column.name === "end_ns")
    ? "max(greatest(timestamp_ns, coalesce(end_ns, timestamp_ns)))"
    : "max(timestamp_ns)";
  const isRecorded = stream === "step" ? " FILTER (WHERE kind NOT IN ('engine', 'probes'))" : "";
  try {
    const rows = await database.rows(
      `SELECT filename, min(timestamp_ns) AS first, min(timestamp_ns)${isRecorded} AS recorded, ${last} AS last FROM ${parquetScan(paths, "filename = true")} GROUP BY filename`,
    );
    for (const row of rows) {
      if (typeof row.first !== "bigint" || typeof row.last !== "bigint") continue;
      const recorded = typeof row.recorded === "bigint" ? row.recorded : null;
      found.set(String(row.filename), { first: row.first, last: row.last, recorded });
    }
    return found;
  } catch {
    // One of them cannot be read: each is asked alone. Whoever reads that segment itself will count it as skipped.
    if (paths.length === 1) return found;
    for (const path of paths)
      for (const [one, bounds] of await timeBounds(database, stream, [path])) found.set(one, bounds);
    return found;
  }
}
