/** What is not known of processes because records found no room: a row for each process and time, and their sum. */
import { emptyMappingEvent, type MappingEvent } from "../../../regions/mapping-row.ts";
import type { WatchedProcess } from "./targets-table.ts";

export interface Gap {
  /** When nothing was lost yet, and when the loss was noticed; CLOCK_MONOTONIC. */
  readonly begin_ns: bigint;
  readonly end_ns: bigint;
}

export interface Gaps {
  /**
   * Rows of who lost records since the last call.
   * @param ended processes that ended meanwhile: what they lost is not told any more
   */
  lost(gap: Gap, table: ReadonlyMap<number, WatchedProcess>, ended: Iterable<number>): MappingEvent[];
  /** A row of a process of which nobody knows what it did in that time. */
  unknown(gap: Gap, pid: number, exec_epoch: number): MappingEvent;
  /** The row of names that were lost, of whichever process. @param pid the first of the tree */
  names(gap: Gap, pid: number, count: number): MappingEvent;
  forget(pid: number): void;
  /** Gaps of records so far, ns that they cover together, and the longest. */
  readonly sum: Readonly<Record<"gaps" | "covered_ns" | "longest_ns", number>>;
}

export function createGaps(): Gaps {
  const before = new Map<number, number>();
  const sum = { gaps: 0, covered_ns: 0, longest_ns: 0 };
  let covered_ns = 0n;

  function row(gap: Gap, pid: number, exec_epoch: number, result: bigint | null): MappingEvent {
    const { begin_ns, end_ns } = gap;
    return { ...emptyMappingEvent("lost", end_ns, pid), exec_epoch, begin_ns, end_ns, result };
  }

  function note({ begin_ns, end_ns }: Gap): void {
    sum.gaps += 1;
    sum.longest_ns = Math.max(sum.longest_ns, Number(end_ns - begin_ns));
    // One gap begins before the one before it was noticed.
    sum.covered_ns += Number(end_ns - (begin_ns > covered_ns ? begin_ns : covered_ns));
    covered_ns = end_ns;
  }

  return {
    lost(gap, table, ended) {
      note(gap);
      const rows: MappingEvent[] = [];
      for (const [pid, { exec_epoch, lost }] of table) {
        const fresh = lost - (before.get(pid) ?? 0);
        if (fresh === 0) continue;
        before.set(pid, lost);
        rows.push(row(gap, pid, exec_epoch, BigInt(fresh)));
      }
      for (const pid of ended) rows.push(row(gap, pid, 0, null));
      return rows;
    },
    unknown: (gap, pid, exec_epoch) => row(gap, pid, exec_epoch, null),
    names: ({ begin_ns, end_ns }, pid, count) => ({
      ...emptyMappingEvent("lost_names", end_ns, pid),
      begin_ns,
      end_ns,
      result: BigInt(count),
    }),
    forget: (pid) => void before.delete(pid),
    sum,
  };
}
