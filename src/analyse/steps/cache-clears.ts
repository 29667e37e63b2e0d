/** When a whole KV cache was emptied: the life of every cell ends at that time, and its next write begins another. */
import type { KvRowSample } from "../input/input.ts";

/**
 * Times at which the last live row left the cache, ascending. A trim after which other rows are still alive is not listed:
 * their cells go on with the same life.
 * @param rows KV rows of one class, in any order
 */
export function cacheClears(rows: readonly KvRowSample[]): Float64Array {
  const writes = Float64Array.from(rows, (row) => row.write_ns).sort();
  const ends = Float64Array.from(
    rows.filter((row) => Number.isFinite(row.evict_ns)),
    (row) => row.evict_ns,
  ).sort();
  const clears: number[] = [];
  let written = 0;
  for (const [i, end] of ends.entries()) {
    if (ends[i + 1] === end) continue;
    while (written < writes.length && (writes[written] ?? 0) <= end) written += 1;
    if (written === i + 1) clears.push(end);
  }
  return Float64Array.from(clears);
}
