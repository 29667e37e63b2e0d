/** Whether the writer of a capture ended it before the program did, though its last record is there. */
import type { CaptureHeader } from "./format/header.ts";

/** A thread that writes every 10 ms is seldom held up for so long, nor for so many of its own periods. */
const SILENCE_MS = 200;
const SILENCE_PERIODS = 10;

/**
 * Why a capture with its last record is not whole; null where nothing speaks against it.
 *
 * memray gives up for good at the first record that finds no room, and the program runs on. Where there is room again
 * at the end, it closes the capture as if nothing had been. Its header has then counted the record that failed; where
 * that was none of an allocation, memory records are missing from there on.
 *
 * @param records allocations and frees that were read
 * @param memory how many memory records were read, and when the last was written, in ms since the start
 */
export function writerStop(
  header: Pick<CaptureHeader, "nRecords" | "startMs" | "endMs">,
  records: number,
  memory: Readonly<{ records: number; last_ms: number }>,
): string | null {
  if (header.nRecords > records) {
    return `its writer counted ${header.nRecords} allocations and frees and wrote ${records}: it stopped there`;
  }
  const silence_ms = header.endMs - header.startMs - memory.last_ms;
  const period_ms = memory.last_ms / Math.max(1, memory.records);
  if (silence_ms <= Math.max(SILENCE_MS, SILENCE_PERIODS * period_ms)) return null;
  return `its last ${silence_ms} ms have no memory record: its writer may have stopped before them`;
}
