/** How many instructions touch a byte in one pass of a kernel over the tensor. */

import { effectiveSize } from "../../statistics/clopper-pearson.ts";
import { interval } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import { withUnseen } from "../../statistics/unseen-room.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { Group, WatchSet } from "../input/group.ts";
import { countWindows, passesIn, passWeights } from "../watched/count-window.ts";
import { tooFewByTime } from "../watched/few-watches.ts";
import { windowsByAge } from "../watched/moments-after-birth.ts";
import type { Figure, MetricFamily } from "./metric.ts";

/** More of the passes than this cut short by a trap limit: the mean is only a lower bound. */
const MOST_CUT = 0.01;

interface PassHits {
  readonly hits: number;
  readonly passes: number;
  /** Passes that the k-th trap cut short. */
  readonly cut: number;
}

/** Hits of the passes in the window of a watch. */
function passHits(set: WatchSet, i: number, length: number): PassHits {
  const exposure = set.exposures[i];
  const inside = passesIn(set, i, length);
  if (exposure === undefined) return { hits: 0, passes: 0, cut: 0 };
  const { passes, byTrap, end_ns } = exposure;
  const { weight } = windowsByAge(set);
  let hits = 0;
  let counted = 0;
  for (const p of inside) {
    const times = weight(i, passes.start_ns[p] ?? 0);
    hits += times * (passes.hits[p] ?? 0);
    counted += times;
  }
  const last = inside.at(-1);
  const isCut =
    byTrap && last !== undefined && last === passes.count - 1 && end_ns - (passes.end_ns[last] ?? 0) < set.gap_ns;
  return { hits, passes: counted, cut: isCut ? 1 : 0 };
}

function figures(group: Group): Figure[] {
  const { uniform, gap_ns } = group;
  const { length_ns, cut: cutBytes } = countWindows(uniform);
  const seen = uniform.exposures.map((_, i) => passHits(uniform, i, length_ns[i] ?? 0));
  const weights = passWeights(uniform, windowsByAge(uniform).time_ns);
  const weigh = (count: (one: PassHits) => number): Float64Array =>
    Float64Array.from(seen, (one, i) => count(one) * (weights[i] ?? 0));
  const sum = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);
  const passes = weigh((one) => one.passes);
  const resampled = ratioInterval(
    weigh((one) => one.hits),
    passes,
    uniform.resamples(),
  );
  const mean = withUnseen(resampled, effectiveSize(passes.filter((weight) => weight > 0)), 1);
  const cut = sum(passes) > 0 ? sum(weigh((one) => one.cut)) / sum(passes) : 0;
  const bounded = Math.max(cut, cutBytes) > MOST_CUT;
  const n = seen.filter((one) => one.passes > 0).length;
  const few = n >= FEWEST ? tooFewByTime(uniform) : null;
  return [
    {
      metric: "hits_per_pass",
      source: "watch",
      estimate: few !== null ? interval(null, null, null) : bounded ? { value: null, lo: mean.lo, hi: null } : mean,
      n,
      coverage: uniform.exposures.length > 0 ? n / uniform.exposures.length : null,
      grain_bytes: 8,
      method: `accesses over passes in a common window, each by the bytes that it stands for; BCa over addresses; passes merged below ${gap_ns} ns`,
      bound: bounded,
      ...(few !== null
        ? { why: few }
        : bounded
          ? { why: `the trap limit cut ${Math.round(100 * cut)} % of the passes short` }
          : {}),
    },
  ];
}

export const hitsPerPass: MetricFamily = {
  metrics: [
    {
      name: "hits_per_pass",
      unit: "accesses/pass",
      definition: "Mean number of instructions that access a byte in one pass. Accesses are passes times this.",
      formula: "sum over b of A(b) / sum over b of P(b)",
      averaged_over: "passes",
    },
  ],
  estimator:
    "Accesses of the passes that begin in a window after the arming, as they are counted for rates, over those passes; each address weighted by the bytes that it stands for. The interval allows for an access more or less in as many of the passes as may be unlike those that were seen.",
  sources: [["watch", "every access to the watched bytes is seen"]],
  not_by_sampling: "a sample does not know the pass that it belongs to",
  suppressed:
    "n < 30 addresses, or without steps fewer than some 91, as of the rates; a lower bound where the trap limit cut more than 1 % of the passes short.",
  spans: "every",
  figures,
};
