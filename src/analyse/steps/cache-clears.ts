/** When a whole KV cache was emptied: the life of every cell ends at that time, and its next write begins another. */
import type { KvRows } from "../../label/kv/kv-lifecycle.ts";
import type { KvRowSamples } from "../input/input.ts";

/**
 * Times at which the last live row left the cache, ascending. A trim after which other rows are still alive is not listed:
 * their cells go on with the same life.
 * @param rows KV rows of one class, in any order
 * @param held from when to when a cache held rows that are not among them
 */
export function cacheClears(
  rows: KvRowSamples,
  held: readonly (readonly [begin_ns: number, end_ns: number])[] = [],
): Float64Array {
  const writes = new Float64Array(rows.length + held.length);
  const allEnds = new Float64Array(rows.length + held.length);
  let [written, ended] = [0, 0];
  const take = (write_ns: number, end_ns: number): void => {
    writes[written++] = write_ns;
    if (Number.isFinite(end_ns)) allEnds[ended++] = end_ns;
  };
  for (const { write_ns, evict_ns } of rows) take(write_ns, evict_ns);
  for (const [begin_ns, end_ns] of held) take(begin_ns, end_ns);
  writes.sort();
  const ends = allEnds.subarray(0, ended).sort();
  const clears: number[] = [];
  let before = 0;
  for (const [i, end] of ends.entries()) {
    if (ends[i + 1] === end) continue;
    while (before < writes.length && (writes[before] ?? 0) <= end) before += 1;
    if (before === i + 1) clears.push(end);
  }
  return Float64Array.from(clears);
}

/** The same by all rows of a run: none where some are not told, as their cache may have held them at any time. */
export function clearsTold(rows: KvRowSamples, { untold, early }: Pick<KvRows, "untold" | "early">): Float64Array {
  return cacheClears(untold === null ? rows : [], early?.held);
}
