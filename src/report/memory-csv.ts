/** The CSV of `monitor`: memory of a process tree over time. */
import { csvField } from "./csv.ts";

/** First the columns that other memory monitors of LLM processes write; mb is MiB. */
export const MEMORY_CSV_HEADER =
  "timestamp,label,pid,rss_mb,vms_mb,rss_anon_mb,rss_file_mb,rss_shmem_mb,pss_mb,children,timestamp_ns";

export interface MemoryRow {
  readonly time: Date;
  readonly label: string;
  /** Root of the tree; all else is summed over the tree. */
  readonly pid: number;
  readonly rss_bytes: number;
  readonly vms_bytes: number;
  readonly rss_anon_bytes: number;
  readonly rss_file_bytes: number;
  readonly rss_shmem_bytes: number;
  readonly pss_bytes: number | null;
  /** Processes of the tree besides the root. */
  readonly children: number;
  /** CLOCK_MONOTONIC in ns. */
  readonly timestamp_ns: bigint;
}

const mib = (bytes: number | null): string => (bytes === null ? "" : (bytes / 2 ** 20).toFixed(3));

/** Wall time of this machine's zone with its offset, to the millisecond (ISO 8601). */
export function localTime(time: Date): string {
  const offset = -time.getTimezoneOffset();
  const sign = offset < 0 ? "-" : "+";
  const two = (value: number): string => String(Math.floor(Math.abs(value))).padStart(2, "0");
  const local = new Date(time.getTime() + offset * 60_000).toISOString().slice(0, -1);
  return `${local}${sign}${two(offset / 60)}:${two(offset % 60)}`;
}

/** One line without its end; a PSS that is not known yet is empty. */
export function memoryCsvRow(row: MemoryRow): string {
  return [
    localTime(row.time),
    csvField(row.label),
    row.pid,
    mib(row.rss_bytes),
    mib(row.vms_bytes),
    mib(row.rss_anon_bytes),
    mib(row.rss_file_bytes),
    mib(row.rss_shmem_bytes),
    mib(row.pss_bytes),
    row.children,
    row.timestamp_ns,
  ].join(",");
}
