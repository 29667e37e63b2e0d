/** process_timeline.parquet: the target over time, on the axis of the engine's tokens. */
import { join } from "node:path";
import { batchFromRows } from "../../columnar/rows.ts";
import { writeParquetFile } from "../../columnar/write/parquet-writer.ts";
import { type Slot, slotAt, type Timeline } from "../../label/timeline/phase.ts";
import type { ProcessPoint } from "./process-readings.ts";

/** What the engine did at a moment; of several the one that generates, null without one. */
function slotOf(timeline: Timeline, time_ns: number): Slot | null {
  let found: Slot | null = null;
  for (const slots of timeline.values()) {
    const slot = slots[slotAt(slots, time_ns)] ?? null;
    if (slot?.phase === "generation") return slot;
    found ??= slot;
  }
  return found;
}

const whole = (value: number): bigint => BigInt(Math.round(value));

/** Replaces process_timeline.parquet of a run directory. @throws MrmTraceError failure where it cannot be written */
export function writeTimeline(
  runDir: string,
  points: readonly ProcessPoint[],
  timeline: Timeline,
  originNs: bigint,
): void {
  const rows = points.map((point) => {
    const slot = slotOf(timeline, point.time_ns);
    return {
      timestamp_ns: originNs + whole(point.time_ns),
      phase: slot?.phase ?? null,
      step: slot?.step ?? null,
      token_index: slot?.token_index ?? null,
      context_tokens: slot?.context_tokens ?? null,
      processes: point.processes,
      rss_bytes: whole(point.rss_bytes),
      rss_anon_bytes: whole(point.rss_anon_bytes),
      rss_file_bytes: whole(point.rss_file_bytes),
      rss_shmem_bytes: whole(point.rss_shmem_bytes),
      pss_bytes: point.pss_bytes === null ? null : whole(point.pss_bytes),
      cpu_user_ns: whole(point.cpu_user_ns),
      cpu_system_ns: whole(point.cpu_system_ns),
      minor_faults: whole(point.minor_faults),
      major_faults: whole(point.major_faults),
    };
  });
  writeParquetFile(join(runDir, "process_timeline.parquet"), "process_timeline", [
    batchFromRows("process_timeline", rows),
  ]);
}
