/** Windows of watches that were given time by several laws: each law counts by the time in which it held, not by that of its windows. */
import type { WatchSet } from "../../input/group.ts";
import { isInside } from "../../input/span.ts";

const found = new WeakMap<Float64Array, Float64Array>();

/**
 * What the window of each exposure counts for: a law has the share of the time of all windows of a stratum that it has of the moments at which its
 * watches began, which are drawn whatever goes on (post-strata; Holt and Smith, JRSS A 142, 1979). 1 where there is one law.
 * @param time_ns of each window
 */
export function evenLaws(set: WatchSet, time_ns: Float64Array): Float64Array {
  const cached = found.get(time_ns);
  if (cached !== undefined) return cached;
  const { exposures, weights, span, law } = set;
  const out = new Float64Array(exposures.length).fill(1);
  found.set(time_ns, out);
  if (law.every((number) => number === 0)) return out;
  for (const members of Map.groupBy(exposures.keys(), (i) => weights.stratum[i] ?? 0).values()) {
    const cells = [...Map.groupBy(members, (i) => law[i] ?? 0).values()].map((some) => {
      const sumOf = (amount: (i: number) => number): number =>
        some.reduce((sum, i) => sum + (weights.bytes[i] ?? 0) * amount(i), 0);
      const began = sumOf((i) => (isInside(span, exposures[i]?.armed_ns ?? Number.NaN) ? 1 : 0));
      return { some, began, held: sumOf((i) => time_ns[i] ?? 0) };
    });
    const those = cells.filter(({ began, held }) => began > 0 && held > 0);
    const began = those.reduce((sum, cell) => sum + cell.began, 0);
    const held = those.reduce((sum, cell) => sum + cell.held, 0);
    for (const cell of those) for (const i of cell.some) out[i] = cell.began / began / (cell.held / held);
  }
  return out;
}
