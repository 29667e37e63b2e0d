/** Allocations by the stack that made them, as memray saw them. */
import { withAllocations } from "../../label/capture/allocation-database.ts";
import { openCapture } from "../../label/capture/capture.ts";
import type { ExportTask } from "../export-format.ts";
import { allocationFrames } from "./allocation-frames.ts";
import type { Stack } from "./stack.ts";

const LIVES = `
SELECT pid, stack_id, native_stack_id, allocator,
  CAST(sum(size_bytes) AS DOUBLE) AS allocated_bytes, CAST(count(*) AS DOUBLE) AS allocations,
  CAST(coalesce(sum(size_bytes) FILTER (ended_by = 'none'), 0) AS DOUBLE) AS live_bytes,
  CAST(count(*) FILTER (ended_by = 'none') AS DOUBLE) AS live_allocations
FROM allocation GROUP BY ALL ORDER BY ALL`;

/** Of an aggregated capture. */
const SITES = `
SELECT pid, stack_id, native_stack_id, allocator,
  CAST(sum(leaked_bytes) AS DOUBLE) AS live_bytes, CAST(sum(leaked_allocations) AS DOUBLE) AS live_allocations,
  CAST(sum(peak_bytes) AS DOUBLE) AS peak_bytes, CAST(sum(peak_allocations) AS DOUBLE) AS peak_allocations
FROM allocation_site GROUP BY ALL ORDER BY ALL`;

/** One stack for each place and function that allocated there; none where memray recorded nothing. */
export async function allocationStacks({ run, leaveOut, goOn }: ExportTask): Promise<Stack[]> {
  const capture = await openCapture(run.runDir);
  if (capture.segments.allocation.length === 0 && capture.segments.allocation_site.length === 0) return [];
  const rows = await withAllocations(capture, async (database) => [
    ...(await database.rows(LIVES)),
    ...(await database.rows(SITES)),
  ]);
  await goOn(0, null);
  const framesOf = allocationFrames(run);
  const idOf = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));
  const isCut = rows.some(({ stack_id, native_stack_id }) => stack_id !== null && native_stack_id !== null);
  if (isCut) leaveOut("native frames of stacks that have frames of Python");
  if (capture.skipped.some(({ stream }) => stream.startsWith("allocation")))
    leaveOut("allocations of segments that cannot be read");
  return rows.map(({ pid, stack_id, native_stack_id, allocator, ...sums }) => {
    const frames = framesOf(Number(pid), idOf(stack_id), idOf(native_stack_id));
    const values = Object.fromEntries(Object.entries(sums).map(([name, value]) => [name, Number(value)]));
    const innermost = { function: String(allocator), file: "", line: null };
    return { pid: Number(pid), frames: [...frames, innermost], labels: {}, values };
  });
}
