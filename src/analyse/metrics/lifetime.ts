/** How long regions of a class live. */

import { CENSORED, isWholeLife } from "../../label/regions/places.ts";
import { interval } from "../../statistics/interval.ts";
import { type Lives, lifeQuantiles } from "../../statistics/weighted-lives.ts";
import type { Group } from "../input/group.ts";
import type { RegionSet } from "../input/region-set.ts";
import { lifetimeFigures } from "../process/allocation-figures.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const QUANTILES = [
  ["lifetime_p50_ns", 0.5, "Median"],
  ["lifetime_p90_ns", 0.9, "90th percentile"],
  ["lifetime_p99_ns", 0.99, "99th percentile"],
] as const;

/**
 * The life of each region, by its bytes; one whose begin or end was not seen is not whole. Bytes that were moved count once, at their
 * last address, from when they came to their first one: where that is not known they have lived at least as long as there.
 */
function livesOf({ all, rows }: RegionSet): Lives {
  const { begin, end, birth_ns, death_ns, censored, movedBirths } = all;
  const last = rows.filter((row) => ((censored[row] as number) & CENSORED.left) === 0);
  const rowOf = (life: number): number => last[life] as number;
  return {
    count: last.length,
    time(life) {
      const row = rowOf(life);
      return (death_ns[row] as number) - (movedBirths.get(row) ?? (birth_ns[row] as number));
    },
    isWhole(life) {
      const row = rowOf(life);
      const bits = censored[row] as number;
      return isWholeLife(movedBirths.has(row) ? bits & ~CENSORED.came : bits);
    },
    weight: (life) => (end[rowOf(life)] as number) - (begin[rowOf(life)] as number),
  };
}

function figures(group: Group): Figure[] {
  if (group.allocations !== null) return lifetimeFigures(group.allocations, QUANTILES);
  const lives = livesOf(group.regions);
  const { curve, seen, endless, n_censored, censored } = lifeQuantiles(
    lives,
    QUANTILES.map(([, q]) => q),
  );
  return QUANTILES.map(([metric], k) => {
    const hi = endless[k] ?? null;
    return {
      metric,
      source: "region_map",
      // What is alive may die at once or never: the quantile of the whole lives lies between.
      estimate: interval(hi === null ? null : (curve[k] ?? null), seen[k] ?? null, hi),
      n: lives.count,
      n_censored,
      censored,
      coverage: 1,
      window_ns: group.input.window_ns,
      census: true,
      method:
        "KM over regions, per byte; no sampling error; from the quantile if what is alive died at once to that if it never died",
      ...(hi === null ? { why: "alive at the end of the run, or before it began" } : {}),
    };
  });
}

export const lifetime: MetricFamily = {
  metrics: QUANTILES.map(([name, q, words]) => ({
    name,
    unit: "ns",
    definition: `${words}, over bytes, of the time from the birth of a region (a mapping, or a tensor in one) to its death: how long the place is kept, not how long the data in it is needed, which is retention.`,
    formula: `Q_${100 * q} of death - birth, over regions, each as often as it has bytes`,
    averaged_over: "bytes",
  })),
  estimator: [
    "Product-limit curve weighted by bytes.",
    "A region alive at the end, or born before we looked, lived at least as long as was seen: right-censored. n counts regions.",
    "Memory that a call moves (`mremap`, as `realloc` of large blocks does) counts once, at its last address, from when it came to its first one; in a process of whose moved memory tensors held a part, it lived at least as long as at the last.",
    "The interval has at its lower end every open life as long as was seen, at its upper end without an end: the quantile of the whole lives lies within it, whatever happens.",
    "Of allocations, the value is that curve too, with every birth and death in the middle of the time in which it was (about 10 ms); the interval has at its lower end every time at its shortest, at its upper end every time at its longest and what was alive at the end without an end, in bins of 0.5 %: the quantile of the whole run lies within it, whatever happened.",
  ],
  sources: [
    ["region_map", "every birth and death is recorded"],
    ["allocation", "memray records every birth and death; their times lie between two of its memory records"],
  ],
  not_by_sampling: null,
  suppressed:
    "More than half of the bytes censored, or the quantile not reached by what has died: a bound from below, the quantile of what was seen.",
  spans: "whole",
  figures,
};
