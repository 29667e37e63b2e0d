/** Reads the fault stream into sums by class and span: it may be the largest of a run, so no row is held. */
import { twoWords } from "../../columnar/two-words.ts";
import type { Capture } from "../../label/capture/capture.ts";
import { scanColumns } from "../../label/capture/stream-columns.ts";
import type { PlaceIndex } from "../../label/regions/place-index.ts";
import type { Regions } from "../../label/regions/region-map.ts";
import type { SpanSlices } from "../input/span-slices.ts";
import { type FaultSums, faultReader } from "./fault-sums.ts";

const WORD = 2 ** 32;

/** Faults by class and span; null where none were recorded. */
export async function loadFaults(
  capture: Capture,
  regions: Regions,
  index: PlaceIndex,
  slices: SpanSlices,
  originNs: bigint,
): Promise<FaultSums | null> {
  const reader = faultReader(regions, index, slices);
  const { low, high } = twoWords(originNs);
  await scanColumns(capture, "fault", ["timestamp_ns", "address", "pid", "fault_flags"], (columns, rows) => {
    const time = columns.timestamp_ns.words;
    const address = columns.address.words;
    const pid = columns.pid.words;
    const flags = columns.fault_flags.words;
    for (let row = 0; row < rows; row++) {
      const word = 2 * row;
      reader.take(
        (time[word] as number) - low + ((time[word + 1] as number) - high) * WORD,
        pid[row] as number,
        (address[word] as number) + (address[word + 1] as number) * WORD,
        flags[row] as number,
      );
    }
  });
  const sums = reader.end();
  return sums.rows === 0 ? null : sums;
}
