/** Watches with their traps, times as ns since the origin. */
import type { DuckDBValue } from "@duckdb/node-api";
import { type Database, parquetScan } from "../../sql/database.ts";
import { relativeNs } from "../timeline/origin.ts";

export interface Trap {
  readonly time_ns: number;
  /** load, store, load_store or unknown. */
  readonly op: string;
  readonly ip: bigint;
}

export interface WatchTraps {
  readonly watch_id: number;
  readonly pid: number;
  readonly addr: bigint;
  readonly mode: string;
  readonly begin_ns: number;
  readonly end_ns: number;
  /** Traps of the program inside the exposure, in order of time. */
  readonly traps: readonly Trap[];
  /** The row of the watch stream. */
  readonly row: Readonly<Record<string, DuckDBValue>>;
}

/** Traps of all watches by watch, from the labelled rows. */
async function trapsByWatch(
  database: Database,
  traceParts: readonly string[],
  originNs: bigint,
): Promise<Map<number, Trap[]>> {
  const rows = await database.rows(
    `SELECT watch_id, timestamp_ns, op_type, ip FROM ${parquetScan(traceParts)}
     WHERE source = 'watch' AND watch_id IS NOT NULL ORDER BY watch_id, timestamp_ns, sample_id`,
  );
  const traps = new Map<number, Trap[]>();
  for (const row of rows) {
    const id = Number(row.watch_id);
    const trap = {
      time_ns: relativeNs(row.timestamp_ns, originNs) ?? 0,
      op: String(row.op_type),
      ip: typeof row.ip === "bigint" ? row.ip : 0n,
    };
    const list = traps.get(id);
    if (list === undefined) traps.set(id, [trap]);
    else list.push(trap);
  }
  return traps;
}

/** The watches of the run; traps outside a watch's exposure are left out. */
export async function watchTraps(
  database: Database,
  watches: readonly Readonly<Record<string, DuckDBValue>>[],
  traceParts: readonly string[],
  originNs: bigint,
): Promise<WatchTraps[]> {
  if (watches.length === 0) return [];
  const traps = await trapsByWatch(database, traceParts, originNs);
  return watches.map((row) => {
    const watch_id = Number(row.watch_id);
    const begin_ns = relativeNs(row.timestamp_ns, originNs) ?? 0;
    const end_ns = relativeNs(row.end_ns, originNs) ?? begin_ns;
    return {
      watch_id,
      pid: Number(row.pid),
      addr: typeof row.addr === "bigint" ? row.addr : 0n,
      mode: String(row.mode),
      begin_ns,
      end_ns,
      traps: (traps.get(watch_id) ?? []).filter((trap) => trap.time_ns >= begin_ns && trap.time_ns <= end_ns),
      row,
    };
  });
}
