/** When each process of the run was forked, and when it ended. */
import { CLONE_THREAD } from "../../regions/mapping-row.ts";
import type { RowOf } from "../../schema/row.ts";

export interface Forks {
  /** Last fork of a process with this number before a moment, ns since the origin; null where none was seen. */
  before(pid: number, time_ns: number): number | null;
  /** First end of a process with this number from a moment on, ns since the origin; null where none was seen. */
  endFrom(pid: number, time_ns: number): number | null;
}

export interface ForkTimes extends Forks {
  /** Takes a row of the mapping stream, in order of time. */
  take(row: RowOf<"mapping">): void;
}

export function forkTimes(originNs: bigint): ForkTimes {
  const times = new Map<number, number[]>();
  const ends = new Map<number, number[]>();
  const note = (list: Map<number, number[]>, pid: number, timestamp_ns: bigint): void => {
    const time = Number(timestamp_ns - originNs);
    const mine = list.get(pid);
    if (mine === undefined) list.set(pid, [time]);
    else mine.push(time);
  };
  return {
    take({ kind, pid, child_pid, flags, timestamp_ns }) {
      if (kind === "exit") note(ends, pid, timestamp_ns);
      if (kind !== "fork" || child_pid === null || ((flags ?? 0) & CLONE_THREAD) !== 0) return;
      note(times, child_pid, timestamp_ns);
    },
    before: (pid, time_ns) => times.get(pid)?.findLast((time) => time <= time_ns) ?? null,
    endFrom: (pid, time_ns) => ends.get(pid)?.find((time) => time >= time_ns) ?? null,
  };
}
