/** What a capture tells about itself: warnings for people, figures for metadata.json. */
import { formatNs } from "../../units.ts";
import type { CaptureSummary } from "./capture-summary.ts";
import { ALLOCATORS } from "./format/allocator.ts";
import type { CaptureHeader } from "./format/header.ts";

export const MEMRAY_BLIND_TO = "memray sees allocations and frees, never a read or a write";
/** Figures of births, deaths and sizes. */
export const IDENTIFIES: readonly string[] = ["allocation"];

/** Half the longest time between two memory records: how far a time of the capture may be wrong, in ns. */
export function timeErrorNs(summary: CaptureSummary): number {
  return ((summary.longestGapMs + 1) / 2) * 1e6 + Number(summary.clockUncertaintyNs);
}

/** One line for everything that a reader of the figures must know. */
export function captureWarnings(path: string, header: CaptureHeader, summary: CaptureSummary): string[] {
  const { totals } = summary;
  const out: string[] = [];
  if (summary.problem !== null) out.push(`${path} was read up to its cut: ${summary.problem}`);
  if (header.aggregated) out.push(`${path} is aggregated: it has sums for each stack, no addresses and no lifetimes`);
  else out.push(`times of allocations are known to within ${formatNs(timeErrorNs(summary))}, their order exactly`);
  if (summary.clockSetBack > 0) out.push(`the clock of ${path} was set back ${summary.clockSetBack} times`);
  if (totals.unpaired > 0) out.push(`${totals.unpaired} allocations were not followed: too many were alive`);
  if (summary.stackOverflow > 0) out.push(`${summary.stackOverflow} stacks were not told apart: there are too many`);
  if (summary.unnamedFrames > 0) out.push(`${summary.unnamedFrames} frames have no name: there are too many`);
  return out;
}

/** Exact figures of a capture, for metadata.json. */
export function detailsOf(header: CaptureHeader, summary: CaptureSummary): Readonly<Record<string, unknown>> {
  const { totals, sites } = summary;
  const byAllocator = ALLOCATORS.map((name, i) => [name, totals.byAllocator[i]?.allocations ?? 0] as const);
  return {
    version: header.version,
    pid: header.pid,
    python_allocator: header.pythonAllocator,
    traces_python_allocators: header.tracesPythonAllocators,
    native_traces: header.nativeTraces,
    complete: summary.complete,
    ...(header.aggregated
      ? {
          peak_bytes: sites.peakBytes,
          peak_allocations: sites.peakAllocations,
          leaked_bytes: sites.leakedBytes,
          leaked_allocations: sites.leakedAllocations,
        }
      : {
          allocations: totals.allocations,
          allocated_bytes: totals.allocatedBytes,
          peak_bytes: totals.peakBytes,
          live_bytes_at_end: totals.liveBytes,
          live_allocations_at_end: totals.liveAllocations,
          allocations_by_function: Object.fromEntries(byAllocator.filter(([, n]) => n > 0)),
          time_error_ns: timeErrorNs(summary),
        }),
    memory_records: summary.memoryRecords,
    unread_bytes: summary.unreadBytes,
  };
}
