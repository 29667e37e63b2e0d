/** How many threads of a target were busy at once, as the process stream tells while it passes. */
import { type Batch, isStringColumn } from "../columnar/batch.ts";
import { numberAt } from "../columnar/cell.ts";

/** CLOCK_MONOTONIC in ns. */
export interface Span {
  readonly begin_ns: number;
  readonly end_ns: number;
}

export interface BusyThreads {
  /** Looks at a batch of the process table. */
  take(batch: Batch): void;
  /**
   * The mean number of busy threads over the time, summed over the processes.
   * @param spans the times to look at, by process; the whole recording and all processes where it is empty
   * @returns null where a process was not read twice in its time
   */
  mean(spans: ReadonlyMap<number, Span>): number | null;
}

interface Reading {
  readonly at_ns: number;
  /** Busy threads times time, since the first reading of the process. */
  readonly busy_ns: number;
}

/** Of a long recording every second reading is let go, and later ones of those. */
const READINGS_MAX = 4096;

/** The first and the last reading in the span; null where they are one, or none. */
function endsOf(readings: readonly Reading[], { begin_ns, end_ns }: Span): readonly [Reading, Reading] | null {
  const within = ({ at_ns }: Reading) => at_ns >= begin_ns && at_ns <= end_ns;
  const [first, last] = [readings.find(within), readings.findLast(within)];
  return first === undefined || last === undefined || first === last ? null : [first, last];
}

export function createBusyThreads(): BusyThreads {
  const processes = new Map<number, Reading[]>();

  function read(pid: number, at_ns: number, busy: number | null): void {
    const readings = processes.get(pid) ?? [];
    const before = readings.at(-1);
    const kept = readings.length < READINGS_MAX ? readings : readings.filter((_, i) => i % 2 === 0);
    const busy_ns = before === undefined ? 0 : before.busy_ns + (busy ?? 0) * (at_ns - before.at_ns);
    kept.push({ at_ns, busy_ns });
    processes.set(pid, kept);
  }

  return {
    take({ columns, rows }) {
      const { role } = columns;
      if (role === undefined || !isStringColumn(role)) return;
      for (let row = 0; row < rows; row++) {
        // Threads are read less often than their process.
        if (numberAt(columns.run_delay_ns, row) === null) continue;
        if (role.values[role.codes[row] ?? 0] !== "target") continue;
        const at_ns = numberAt(columns.timestamp_ns, row) ?? 0;
        read(numberAt(columns.pid, row) ?? 0, at_ns, numberAt(columns.busy_threads, row));
      }
    },
    mean(spans) {
      if (spans.size > 0) {
        const ends = [...spans].map(([pid, span]) => endsOf(processes.get(pid) ?? [], span));
        const means = ends.map((pair) => pair && (pair[1].busy_ns - pair[0].busy_ns) / (pair[1].at_ns - pair[0].at_ns));
        return means.reduce((sum, each) => (sum === null || each === null ? null : sum + each));
      }
      const all = { begin_ns: 0, end_ns: Number.POSITIVE_INFINITY };
      const ends = [...processes.values()].map((readings) => endsOf(readings, all)).filter((pair) => pair !== null);
      if (ends.length === 0) return null;
      const begin_ns = Math.min(...ends.map(([first]) => first.at_ns));
      const end_ns = Math.max(...ends.map(([, last]) => last.at_ns));
      return ends.reduce((sum, [first, last]) => sum + last.busy_ns - first.busy_ns, 0) / (end_ns - begin_ns);
    },
  };
}
