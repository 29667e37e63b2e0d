/** When a whole KV cache was emptied: the life of every cell ends at that time, and its next write begins another. */
import type { KvRows } from "../../label/kv/kv-lifecycle.ts";
import type { KvRowSample } from "../input/input.ts";

/**
 * Times at which the last live row left the cache, ascending. A trim after which other rows are still alive is not listed:
 * their cells go on with the same life.
 * @param rows KV rows of one class, in any order
 * @param held from when to when a cache held rows that are not among them
 */
export function cacheClears(
  rows: readonly KvRowSample[],
  held: readonly (readonly [begin_ns: number, end_ns: number])[] = [],
): Float64Array {
  const writes = Float64Array.from([...rows.map((row) => row.write_ns), ...held.map(([begin_ns]) => begin_ns)]).sort();
  const ends = Float64Array.from(
    [...rows.map((row) => row.evict_ns), ...held.map(([, end_ns]) => end_ns)].filter(Number.isFinite),
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

/** The same by all rows of a run: none where some are not told, as their cache may have held them at any time. */
export function clearsTold(
  rows: readonly KvRowSample[],
  { untold, early }: Pick<KvRows, "untold" | "early">,
): Float64Array {
  return cacheClears(untold === null ? rows : [], early?.held);
}
