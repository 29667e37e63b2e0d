/** Reads the process stream into sums by span. */

import { twoWords } from "../../columnar/two-words.ts";
import type { Capture } from "../../label/capture/capture.ts";
import { type ColumnWords, scanColumns } from "../../label/capture/stream-columns.ts";
import type { Forks } from "../../label/timeline/forks.ts";
import type { SpanSlices } from "../input/span-slices.ts";
import { type ProcessPoint, type ProcessUse, processReadings } from "./process-readings.ts";

const WORD = 2 ** 32;
const NUMBERS = [
  "rss_bytes",
  "rss_anon_bytes",
  "rss_file_bytes",
  "rss_shmem_bytes",
  "vms_bytes",
  "cpu_user_ns",
  "cpu_system_ns",
  "minor_faults",
  "major_faults",
] as const;
const OPTIONAL = ["rss_peak_bytes", "pss_bytes"] as const;

/** A whole number below 2^53. */
const wide = ({ words }: ColumnWords, row: number): number =>
  (words[2 * row] as number) + (words[2 * row + 1] as number) * WORD;

/** The target by span, in the order of the spans; null where the stream has no row of it. */
export async function loadProcess(
  capture: Capture,
  slices: SpanSlices,
  forks: Forks,
  originNs: bigint,
  onMoment: (point: ProcessPoint) => void,
): Promise<ProcessUse[] | null> {
  const readings = processReadings(slices, forks.before, onMoment, forks.endFrom);
  const { low, high } = twoWords(originNs);
  let seen = 0;
  await scanColumns(capture, "process", ["timestamp_ns", "pid", "role", ...NUMBERS, ...OPTIONAL], (columns, rows) => {
    const { timestamp_ns: time, pid, role } = columns;
    for (let row = 0; row < rows; row++) {
      const is_target = role.texts[role.words[row] as number] === "target";
      if (is_target) seen += 1;
      const figures = Object.fromEntries(NUMBERS.map((name) => [name, wide(columns[name], row)]));
      const optional = Object.fromEntries(
        OPTIONAL.map((name) => [name, columns[name].valid?.[row] === 0 ? null : wide(columns[name], row)]),
      );
      readings.take({
        time_ns: (time.words[2 * row] as number) - low + ((time.words[2 * row + 1] as number) - high) * WORD,
        pid: pid.words[row] as number,
        is_target,
        ...(figures as Record<(typeof NUMBERS)[number], number>),
        ...(optional as Record<(typeof OPTIONAL)[number], number | null>),
      });
    }
  });
  const uses = readings.end();
  return seen === 0 ? null : uses;
}
