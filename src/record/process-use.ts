/** Peaks and sums of the process stream while it passes: memory and CPU of the target and of the tracer. */
import { type Batch, type ColumnData, isStringColumn } from "../columnar/batch.ts";
import { numberAt } from "../columnar/cell.ts";

export interface ProcessUse {
  /** Looks at a batch of the process table. */
  take(batch: Batch): void;
  readonly target: RoleUse;
  readonly tracer: RoleUse;
  /** MemAvailable when first seen; null before. */
  readonly mem_available_bytes: number | null;
  /** CPU time of everything on the machine between the first and the last reading of it, in ns; null before two. */
  readonly machine_busy_ns: number | null;
}

export interface RoleUse {
  /** Most that all processes of the role had at once, by their peaks, in bytes. */
  readonly peak_rss_bytes: number;
  /** CPU time between the first and the last sample of every process, in ns. */
  readonly cpu_ns: number;
  /** Of processes that were read twice, the time that their threads waited for a CPU in between, in ns; null without any. */
  readonly run_delay_ns: number | null;
  /** CPU time of the threads that waited, each by its share of the waiting, in ns; null where no waiting is known. */
  readonly waiter_cpu_ns: number | null;
  readonly peak_threads: number;
  /** From the first to the last sample of the role, in ns. */
  readonly window_ns: number;
}

/** How much a figure grew that is read now and then; null before its second reading. */
interface Growth {
  take(value: number | null): void;
  readonly total: number | null;
}

function createGrowth(): Growth {
  let first: number | null = null;
  let total: number | null = null;
  return {
    take(value) {
      if (value === null) return;
      if (first === null) first = value;
      else total = value - first;
    },
    get total() {
      return total;
    },
  };
}

interface Seen {
  first_ns: number;
  last_ns: number;
  first_cpu_ns: number;
  last_cpu_ns: number;
  readonly run_delay: Growth;
  waiter_cpu_ns: number;
  peak_rss_bytes: number;
  peak_threads: number;
}

function roleAt(column: ColumnData | undefined, row: number): string | null {
  return column !== undefined && isStringColumn(column) ? (column.values[column.codes[row] ?? 0] ?? null) : null;
}

function sum(seenProcesses: Map<number, Seen>): RoleUse {
  const use = { peak_rss_bytes: 0, cpu_ns: 0, peak_threads: 0 };
  let run_delay_ns: number | null = null;
  let weighted = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (const seen of seenProcesses.values()) {
    first = Math.min(first, seen.first_ns);
    last = Math.max(last, seen.last_ns);
    use.peak_rss_bytes += seen.peak_rss_bytes;
    use.cpu_ns += seen.last_cpu_ns - seen.first_cpu_ns;
    use.peak_threads += seen.peak_threads;
    if (seen.run_delay.total === null) continue;
    run_delay_ns = (run_delay_ns ?? 0) + seen.run_delay.total;
    weighted += seen.run_delay.total * seen.waiter_cpu_ns;
  }
  const waiter_cpu_ns = run_delay_ns === null ? null : weighted / Math.max(1, run_delay_ns);
  return { ...use, run_delay_ns, waiter_cpu_ns, window_ns: Math.max(0, last - first) };
}

export function createProcessUse(): ProcessUse {
  const roles = { target: new Map<number, Seen>(), tracer: new Map<number, Seen>() };
  let available: number | null = null;
  const busy = createGrowth();
  return {
    take(batch) {
      const { columns } = batch;
      // A batch is one sample, and every row of it has the same.
      if (batch.rows > 0) busy.take(numberAt(columns.machine_busy_ns, 0));
      for (let row = 0; row < batch.rows; row++) {
        const role = roleAt(columns.role, row) === "tracer" ? roles.tracer : roles.target;
        const pid = numberAt(columns.pid, row) ?? 0;
        const cpu_ns = (numberAt(columns.cpu_user_ns, row) ?? 0) + (numberAt(columns.cpu_system_ns, row) ?? 0);
        const now_ns = numberAt(columns.timestamp_ns, row) ?? 0;
        const seen = role.get(pid) ?? {
          first_ns: now_ns,
          last_ns: now_ns,
          first_cpu_ns: cpu_ns,
          last_cpu_ns: cpu_ns,
          run_delay: createGrowth(),
          waiter_cpu_ns: 0,
          peak_rss_bytes: 0,
          peak_threads: 0,
        };
        seen.last_ns = now_ns;
        seen.last_cpu_ns = cpu_ns;
        seen.run_delay.take(numberAt(columns.run_delay_ns, row));
        seen.waiter_cpu_ns = numberAt(columns.waiter_cpu_ns, row) ?? seen.waiter_cpu_ns;
        seen.peak_rss_bytes = Math.max(seen.peak_rss_bytes, numberAt(columns.rss_bytes, row) ?? 0);
        seen.peak_threads = Math.max(seen.peak_threads, numberAt(columns.threads, row) ?? 0);
        role.set(pid, seen);
        available ??= numberAt(columns.mem_available_bytes, row);
      }
    },
    get target() {
      return sum(roles.target);
    },
    get tracer() {
      return sum(roles.tracer);
    },
    get mem_available_bytes() {
      return available;
    },
    get machine_busy_ns() {
      return busy.total;
    },
  };
}
