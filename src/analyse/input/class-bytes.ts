/** How many bytes of a class there are while a span lasts. */
import type { RegionSample } from "./input.ts";
import type { Span } from "./span.ts";

/**
 * The most bytes of the regions alive at one moment of the span.
 * @returns bytes, 0 without regions
 */
export function peakBytes(regions: readonly RegionSample[], span: Span): number {
  const from = span.begin_ns[0] ?? 0;
  const end = span.end_ns[span.end_ns.length - 1] ?? 0;
  const changes: [time: number, bytes: number][] = [];
  for (const region of regions) {
    if (region.death_ns < from || region.birth_ns > end) continue;
    changes.push([Math.max(from, region.birth_ns), region.size_bytes]);
    if (region.death_ns <= end) changes.push([region.death_ns, -region.size_bytes]);
  }
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let now = 0;
  let peak = 0;
  for (const [, bytes] of changes) {
    now += bytes;
    peak = Math.max(peak, now);
  }
  return peak;
}

/** Share of the class's bytes that the draws could fall on, at most 1; null where no region is known. */
export function drawnShare(drawnBytes: number, regions: readonly RegionSample[], span: Span): number | null {
  const peak = peakBytes(regions, span);
  return peak > 0 ? Math.min(1, drawnBytes / peak) : null;
}
