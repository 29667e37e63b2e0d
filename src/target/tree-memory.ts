/** Memory of a whole process tree at one moment, summed from the rows of the process table. */
import { type Batch, type ColumnData, isStringColumn } from "../columnar/batch.ts";

export interface TreeMemory {
  /** Processes of the tree that have memory. */
  readonly pids: readonly number[];
  /** Pages that processes share count once for each; see pss_bytes. */
  readonly rss_bytes: number;
  readonly rss_anon_bytes: number;
  readonly rss_file_bytes: number;
  readonly rss_shmem_bytes: number;
  readonly vms_bytes: number;
  /** Shared pages count once in all; by the last read of each process, null until each was read. */
  readonly pss_bytes: number | null;
}

export interface TreeMemorySum {
  /** Sum over the rows of the target's processes; null where none of them has memory any more. */
  take(batch: Batch): TreeMemory | null;
}

function numberAt(column: ColumnData | undefined, row: number): number | null {
  if (column === undefined || isStringColumn(column) || column.valid?.[row] === 0) return null;
  return Number(column.data[row] ?? 0);
}

/** Sums batches of one sample each; PSS is read less often than the rest and is kept until it is read again. */
export function createTreeMemorySum(): TreeMemorySum {
  const pssOf = new Map<number, number>();
  return {
    take({ columns, rows }) {
      const sum = { rss_bytes: 0, rss_anon_bytes: 0, rss_file_bytes: 0, rss_shmem_bytes: 0, vms_bytes: 0 };
      const pids: number[] = [];
      let pss: number | null = 0;
      for (let row = 0; row < rows; row++) {
        const role = columns.role;
        const isTarget = role !== undefined && isStringColumn(role) && role.values[role.codes[row] ?? 0] === "target";
        // Without an address space it has ended, and only its parent has not asked how.
        if (!isTarget || !numberAt(columns.vms_bytes, row)) continue;
        const pid = numberAt(columns.pid, row) ?? 0;
        pids.push(pid);
        for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += numberAt(columns[name], row) ?? 0;
        const read = numberAt(columns.pss_bytes, row);
        if (read !== null) pssOf.set(pid, read);
        const cached = pssOf.get(pid);
        pss = pss === null || cached === undefined ? null : pss + cached;
      }
      return pids.length === 0 ? null : { pids, ...sum, pss_bytes: pss };
    },
  };
}
