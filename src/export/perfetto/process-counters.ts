/** What /proc said of each process and of the machine, and memray of a heap, as counters. */
import type { RowOf } from "../../schema/row.ts";
import type { ExportTask } from "../export-format.ts";
import type { UNIT } from "./messages.ts";
import type { CounterTrack, TraceWriter } from "./trace-writer.ts";

type Reading = RowOf<"process">;
interface Counter<Row> {
  readonly name: string;
  readonly unit: keyof typeof UNIT;
  readonly read: (row: Row) => bigint | null;
}

const OF_PROCESS: readonly Counter<Reading>[] = [
  { name: "RSS", unit: "bytes", read: (row) => row.rss_bytes },
  { name: "RSS anonymous", unit: "bytes", read: (row) => row.rss_anon_bytes },
  { name: "RSS file", unit: "bytes", read: (row) => row.rss_file_bytes },
  { name: "RSS shared", unit: "bytes", read: (row) => row.rss_shmem_bytes },
  { name: "minor faults so far", unit: "count", read: (row) => row.minor_faults },
  { name: "major faults so far", unit: "count", read: (row) => row.major_faults },
  { name: "CPU time so far", unit: "ns", read: (row) => row.cpu_user_ns + row.cpu_system_ns },
];

const OF_MACHINE: readonly Counter<Reading>[] = [
  { name: "PSI cpu some so far", unit: "ns", read: (row) => row.psi_cpu_some_ns },
  { name: "PSI memory some so far", unit: "ns", read: (row) => row.psi_memory_some_ns },
  { name: "memory available", unit: "bytes", read: (row) => row.mem_available_bytes },
];

const OF_HEAP: readonly Counter<RowOf<"allocation_memory">>[] = [
  { name: "RSS, by memray", unit: "bytes", read: (row) => row.rss_bytes },
  { name: "allocated, by memray", unit: "bytes", read: (row) => row.live_bytes },
  { name: "allocations, by memray", unit: "count", read: (row) => row.live_allocations },
];

/** Counts only what is new, on a track that is made when there is something. */
function changes(newTrack: () => CounterTrack) {
  let track: CounterTrack | null = null;
  let last: bigint | null = null;
  return (time_ns: bigint, value: bigint | null): void => {
    if (value === null || value === last) return;
    track ??= newTrack();
    track.count(time_ns, value);
    last = value;
  };
}

/** Writes the counters of the target's processes, of the machine and of heaps. */
export async function writeProcessCounters({ run, goOn }: ExportTask, writer: TraceWriter): Promise<void> {
  const tracks = new Map<string, ReturnType<typeof changes>>();
  const count = <Row extends { readonly timestamp_ns: bigint }>(
    pid: number | null,
    { name, unit, read }: Counter<Row>,
    row: Row,
  ): void => {
    const key = `${pid}/${name}`;
    const track = tracks.get(key) ?? changes(() => writer.counter(pid, name, unit));
    tracks.set(key, track);
    track(row.timestamp_ns, read(row));
  };
  let done = 0;
  for (const row of run.rows("process")) {
    if (row.role === "target") for (const counter of OF_PROCESS) count(row.pid, counter, row);
    for (const counter of OF_MACHINE) count(null, counter, row);
    if (++done % 4096 === 0) await goOn(done, null);
  }
  for (const row of run.rows("allocation_memory")) {
    for (const counter of OF_HEAP) count(row.pid, counter, row);
    if (++done % 4096 === 0) await goOn(done, null);
  }
}
