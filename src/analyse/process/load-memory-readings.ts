/** Reads the resident memory that memray wrote down itself. */
import { twoWords } from "../../columnar/two-words.ts";
import type { Capture } from "../../label/capture/capture.ts";
import { scanColumns } from "../../label/capture/stream-columns.ts";

const WORD = 2 ** 32;

/** What memray read of the resident memory of the processes that it traced, in the whole run. */
export interface MemoryReadings {
  readonly readings: number;
  readonly processes: number;
  /** Time between the first reading and the last. */
  readonly read_ns: number;
  /** Most of one process at one reading. */
  readonly most_rss_bytes: number;
}

/** Null where memray wrote no reading. */
export async function loadMemoryReadings(capture: Capture, originNs: bigint): Promise<MemoryReadings | null> {
  const { low, high } = twoWords(originNs);
  const pids = new Set<number>();
  let readings = 0;
  let first_ns = Number.POSITIVE_INFINITY;
  let last_ns = Number.NEGATIVE_INFINITY;
  let most_rss_bytes = 0;
  await scanColumns(capture, "allocation_memory", ["timestamp_ns", "pid", "rss_bytes"], (columns, rows) => {
    const time = columns.timestamp_ns.words;
    const pid = columns.pid.words;
    const rss = columns.rss_bytes.words;
    readings += rows;
    for (let row = 0; row < rows; row++) {
      const word = 2 * row;
      const time_ns = (time[word] as number) - low + ((time[word + 1] as number) - high) * WORD;
      first_ns = Math.min(first_ns, time_ns);
      last_ns = Math.max(last_ns, time_ns);
      most_rss_bytes = Math.max(most_rss_bytes, (rss[word] as number) + (rss[word + 1] as number) * WORD);
      pids.add(pid[row] as number);
    }
  });
  if (readings === 0) return null;
  return { readings, processes: pids.size, read_ns: last_ns - first_ns, most_rss_bytes };
}
