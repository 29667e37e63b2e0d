/** What was counted while the run went on, by span. */
import type { Labelled } from "../../label/label-run.ts";
import { loadFaults } from "../process/load-faults.ts";
import { loadMemoryReadings } from "../process/load-memory-readings.ts";
import { loadProcess } from "../process/load-process.ts";
import { processPoints } from "../process/process-points.ts";
import { countedSpans } from "./counted-spans.ts";
import type { RunCounts, StepSample } from "./input.ts";
import { spansOf } from "./span.ts";
import { spanSlices } from "./span-slices.ts";

/** Reads the streams of counts once, one row group at a time. */
export async function loadCounts(labelled: Labelled, steps: readonly StepSample[]): Promise<RunCounts> {
  const { capture, timeline, forks, regions, regionIndex, origin_ns, window_ns } = labelled;
  const spans = countedSpans(spansOf(steps, window_ns), timeline, window_ns);
  const slices = spanSlices(spans, window_ns);
  const points = processPoints();
  const process = await loadProcess(capture, slices, forks, origin_ns, points.add);
  return {
    spans,
    process,
    memray: process === null ? await loadMemoryReadings(capture, origin_ns) : null,
    points: points.all,
    faults: await loadFaults(capture, regions, regionIndex, slices, origin_ns),
  };
}
