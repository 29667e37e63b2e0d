/** When each process of the run was forked. */
import type { DuckDBValue } from "@duckdb/node-api";
import { relativeNs } from "./origin.ts";

const CLONE_THREAD = 0x10000;

export interface Forks {
  /** Last fork of a process with this number before a moment, ns since the origin; null where none was seen. */
  before(pid: number, time_ns: number): number | null;
}

/** @param rows of the mapping stream, in order of time */
export function forksOf(rows: readonly Record<string, DuckDBValue>[], originNs: bigint): Forks {
  const times = new Map<number, number[]>();
  for (const row of rows) {
    if (row.kind !== "fork" || typeof row.child_pid !== "number") continue;
    if ((Number(row.flags ?? 0) & CLONE_THREAD) !== 0) continue;
    const time = relativeNs(row.timestamp_ns, originNs) ?? 0;
    const list = times.get(row.child_pid);
    if (list === undefined) times.set(row.child_pid, [time]);
    else list.push(time);
  }
  return { before: (pid, time_ns) => times.get(pid)?.findLast((time) => time <= time_ns) ?? null };
}
