/** When each process of the run was forked. */
import { CLONE_THREAD } from "../../regions/mapping-row.ts";
import type { RowOf } from "../../schema/row.ts";

export interface Forks {
  /** Last fork of a process with this number before a moment, ns since the origin; null where none was seen. */
  before(pid: number, time_ns: number): number | null;
}

export interface ForkTimes extends Forks {
  /** Takes a row of the mapping stream, in order of time. */
  take(row: RowOf<"mapping">): void;
}

export function forkTimes(originNs: bigint): ForkTimes {
  const times = new Map<number, number[]>();
  return {
    take({ kind, child_pid, flags, timestamp_ns }) {
      if (kind !== "fork" || child_pid === null || ((flags ?? 0) & CLONE_THREAD) !== 0) return;
      const time = Number(timestamp_ns - originNs);
      const list = times.get(child_pid);
      if (list === undefined) times.set(child_pid, [time]);
      else list.push(time);
    },
    before: (pid, time_ns) => times.get(pid)?.findLast((time) => time <= time_ns) ?? null,
  };
}
