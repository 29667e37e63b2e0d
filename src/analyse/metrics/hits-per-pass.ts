/** How many instructions touch a byte in one pass of a kernel over the tensor. */

import { openInterval, recurrentMean, recurrentSample, type UnitTimes } from "../../statistics/recurrent-survival.ts";
import type { Group } from "../input/group.ts";
import type { Exposure } from "../watched/exposure.ts";
import type { Figure, MetricFamily } from "./metric.ts";

/** More of the passes than this cut short by a trap limit: the mean is only a lower bound. */
const MOST_CUT = 0.01;

/** Hits of the passes that lie inside the exposure; of a pass that its end cut, as censored. */
function passHits(exposure: Exposure, gap: number): UnitTimes {
  const { passes } = exposure;
  const complete: number[] = [];
  let cut = Number.NaN;
  for (let i = 0; i < passes.count; i++) {
    if ((passes.start_ns[i] ?? 0) - exposure.begin_ns < gap) continue;
    const last = i === passes.count - 1;
    const open = last && (exposure.byTrap || exposure.end_ns - (passes.end_ns[i] ?? 0) < gap);
    if (open) cut = passes.hits[i] ?? 0;
    else complete.push(passes.hits[i] ?? 0);
  }
  return { complete, censored: openInterval(complete, cut) };
}

function figures(group: Group): Figure[] {
  const { uniform, gap_ns } = group;
  const sample = recurrentSample(
    uniform.exposures.map((exposure) => passHits(exposure, gap_ns)),
    uniform.weights.bytes,
  );
  const { mean, tail } = recurrentMean(sample, uniform.resamples());
  const bounded = tail > MOST_CUT;
  return [
    {
      metric: "hits_per_pass",
      source: "watch",
      estimate: bounded ? { value: null, lo: mean.lo, hi: null } : mean,
      n: sample.n,
      n_censored: sample.n_censored,
      censored: sample.censored,
      coverage: sample.coverage,
      grain_bytes: 8,
      method: `mean of the KM curve of hits (Wang-Chang weights, per byte), percentile bootstrap over addresses; passes merged below ${gap_ns} ns`,
      bound: bounded,
      ...(bounded ? { why: `the trap limit cut the pass of ${Math.round(100 * tail)} % of the bytes short` } : {}),
    },
  ];
}

export const hitsPerPass: MetricFamily = {
  metrics: [
    {
      name: "hits_per_pass",
      unit: "accesses/pass",
      definition: "Mean number of instructions that access a byte in one pass. Accesses are passes times this.",
    },
  ],
  estimator:
    "Hits of the passes that lie wholly inside the exposure; a pass that the trap limit cut is censored at its hits. Mean of the product-limit curve, each address weighted by the bytes that it stands for.",
  sources: [["watch", "every access to the watched bytes is seen"]],
  not_by_sampling: "a sample does not know the pass that it belongs to",
  suppressed: "n < 30 addresses; a lower bound where the trap limit cut the passes of more than 1 % of the bytes.",
  spans: "every",
  figures,
};
