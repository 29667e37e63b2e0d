/** What comes next of a byte, from any moment on: how long until it is used, and for how long what it holds is needed. */
import { interval } from "../../statistics/interval.ts";
import { carryingUnitsOf, openQuantiles, quantilesOfCases } from "../../statistics/inverse-censoring.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { Group } from "../input/group.ts";
import { armingEcho, echoReason, sinceArmingWithEcho } from "../watched/counting/arming-echo.ts";
import { CUT, MOST_CUT } from "../watched/counting/count-window.ts";
import { nextTimes, untilLastNeed, untilNextUse } from "../watched/next-times.ts";
import { fewCarry, isCarriedByFew } from "../watched/rate/pass-rate.ts";
import { missedPasses, untoldOver } from "../watched/unwatched.ts";
import { unknownShare } from "../watched/write-epoch.ts";
import type { Figure, MetricFamily } from "./metric.ts";

/** Hits of unknown kind above this share may hide reads or writes: no figure. */
const MOST_UNKNOWN = 0.01;
const PERCENTILES = [
  ["p50", 0.5, "Median"],
  ["p90", 0.9, "90th percentile"],
] as const;
const NOTHING = interval(null, null, null);

interface NextMetric {
  readonly name: "next_use" | "still_needed";
  readonly next: typeof untilNextUse;
  readonly quantiles: typeof quantilesOfCases;
  /** True where hits have to be known to read or to write. */
  readonly needsOps: boolean;
  readonly method: string;
}

function figures(group: Group, { name, next, quantiles, needsOps, method }: NextMetric): Figure[] {
  const set = group.uniform;
  const { cases, cut } = nextTimes(set, next);
  const carrying = carryingUnitsOf(cases);
  const unknown = needsOps ? unknownShare(set.exposures) : 0;
  const hidden = unknown > MOST_UNKNOWN ? `${Math.round(100 * unknown)} % of the hits may be writes` : null;
  const few = cases.length >= FEWEST && isCarriedByFew(carrying) ? fewCarry(carrying) : null;
  const refused = hidden ?? missedPasses(set) ?? few;
  const echo = armingEcho(set);
  const qs = PERCENTILES.map(([, q]) => q);
  const estimates = refused === null ? quantiles(cases, qs, set.resamples(), untoldOver(set)) : [];
  const open = cases.filter(({ isWhole }) => !isWhole);
  const weigh = (some: typeof cases): number => some.reduce((sum, { weight }) => sum + weight, 0);
  const isCut = cut > MOST_CUT;
  const why = refused ?? (isCut ? CUT : null);
  return PERCENTILES.map(([p], k) => {
    const estimate = estimates[k] ?? NOTHING;
    const { value, lo, hi } = sinceArmingWithEcho(estimate, echo);
    const isMoved = estimate.value !== null && value === null;
    const upper = isCut ? null : hi;
    // That a time is no less than nothing need not be said.
    const lower = lo === 0 && upper === null ? null : lo;
    return {
      metric: `${name}_${p}_ns`,
      source: "watch",
      estimate: interval(isCut ? null : value, lower, upper),
      n: cases.length,
      n_censored: open.length,
      censored: cases.length > 0 ? weigh(open) / weigh(cases) : 0,
      grain_bytes: 8,
      bound: isCut || isMoved,
      method,
      ...(why !== null ? { why } : isMoved ? { why: echoReason(echo.share) } : {}),
    };
  });
}

const SUPPRESSED =
  "n < 30 addresses, or few that carry most. Nothing was looked at in more than 2 % of the time, or memory is so young in more than 2 % of it that it cannot be drawn. More than half of the weight censored, or the quantile not reached: a bound from below, which is no longer than watches last: mostly some 100 ms.";

export const nextUse: MetricFamily = {
  metrics: PERCENTILES.map(([p, q, words]) => ({
    name: `next_use_${p}_ns`,
    unit: "ns",
    definition: `${words}, over bytes and moments, of the time until the next pass over a byte begins. A byte counts as long as it is there, however often it is used; memory that no engine names is there while it has pages; \`iai\` counts it with each pass.`,
    formula: `Q_${100 * q} of t(next pass over b after t) - t, over all b and all moments t in S while b lives`,
    averaged_over: "bytes and moments",
  })),
  estimator: [
    "A watch is an address picked at random, armed at a moment picked at random: it counts once, by the bytes that it stands for, with the time from one pass gap after its arming to the begin of the next pass.",
    "Of memory that no engine names only what is in memory is drawn: pages that were not touched yet, or that the program gave back, count for nothing. Those that the kernel swapped out are there.",
    "Right-censored where the watch ends before: that times are not known whose watch was too short, those like them tell (inverse probability of censoring).",
    "Where bytes are freed, or the span ends, and no pass came, the time is longer than any.",
    "Where windows begin with fewer passes than they go on with, in part from two standard errors on, or first passes are fewer in a time right after armings than in as long a time behind it, in part from three and a half, the program stood still after armings, and a time from there is longer by that: the lower end allows for twice as much, and above a fifth of the time there is an upper bound only.",
    "Interval by the share up to each time, addresses resampled; moments in which nothing was looked at, or memory was too young to be drawn, and watches of which a trap was lost may be of any time.",
  ],
  sources: [["watch", "uniform draws of addresses at random times"]],
  not_by_sampling: "the next sample of an address is not the next access to it",
  suppressed: SUPPRESSED,
  needs_every_access: true,
  spans: "whole",
  figures: (group) =>
    figures(group, {
      name: "next_use",
      next: untilNextUse,
      quantiles: quantilesOfCases,
      needsOps: false,
      method:
        "from a random moment to the next pass over a random byte (inverse probability of censoring); interval by the share up to each time, addresses resampled",
    }),
};

export const stillNeeded: MetricFamily = {
  metrics: PERCENTILES.map(([p, q, words]) => ({
    name: `still_needed_${p}_ns`,
    unit: "ns",
    definition: `${words}, over bytes and moments, of the time for which what a byte holds is still needed: until its last read before the next write or the free; 0 where nothing reads it any more. A byte counts as long as it is there, as for \`next_use\`, however often it is written; \`retention\` counts it with each write.`,
    formula: `Q_${100 * q} of max(0, t(last read of b before the next write or free of b after t) - t), over all b and all moments t in S while b lives`,
    averaged_over: "bytes and moments",
  })),
  estimator: [
    "Each watch counts once, as for `next_use`, with the time from its arming to the last read before the next write or the free.",
    "That a read was the last is known when that write or free is seen.",
    "Lower ends take the others as needed no longer than was seen, upper ends as long as those like them (inverse probability of censoring).",
    "What is not written any more by the end of the span counts as longer than any.",
    "What a program stands still after armings widens the lower end as that of `next_use`, and moments and watches that tell nothing are allowed for as there.",
    "A value only where next to all of the times are known or stood for.",
  ],
  sources: [["watch", "uniform draws of addresses at random times; reads, writes and the free of their bytes"]],
  not_by_sampling: "a sampled last read is earlier than the last read",
  suppressed: SUPPRESSED,
  needs_every_access: true,
  spans: "whole",
  figures: (group) =>
    figures(group, {
      name: "still_needed",
      next: untilLastNeed,
      quantiles: openQuantiles,
      needsOps: true,
      method:
        "from a random moment to the last read of a random byte before its next write or free (inverse probability of censoring), open ones from as long as seen; interval by the share up to each time, addresses resampled",
    }),
};
