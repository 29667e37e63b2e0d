/** How many instructions touch a byte in one pass of a kernel over the tensor. */

import { effectiveSize } from "../../statistics/clopper-pearson.ts";
import { type Interval, interval } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import { withUnseen } from "../../statistics/unseen-room.ts";
import { formatNs } from "../../units.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { Group } from "../input/group.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { armingEcho, withEcho } from "../watched/counting/arming-echo.ts";
import { countedWeights, type PassCounting, trapLimits } from "../watched/counting/count-window.ts";
import { overTime } from "../watched/counting/generation-counting.ts";
import { countPasses } from "../watched/counting/pass-counting.ts";
import type { Exposure } from "../watched/exposure.ts";
import { tooFewOfUnnamed } from "../watched/few-watches.ts";
import { isParted, partedPasses, partedReason } from "../watched/parted-passes.ts";
import { MOST_UNDRAWN, UNDRAWN, undrawnPasses } from "../watched/rate/undrawn-passes.ts";
import { missedPasses } from "../watched/unwatched.ts";
import type { Figure, MetricFamily } from "./metric.ts";

/** More of the passes than this cut short by a trap limit: the mean is only a lower bound. */
const MOST_CUT = 0.01;

/** A mean that may be less tells no more than that a pass has an access. */
const LEAST_TOLD = 1.01;

interface PassHits {
  readonly hits: number;
  readonly passes: number;
  /** Passes that the k-th trap cut short. */
  readonly cut: number;
}

/** True of a pass that the last trap cut short: it may have gone on. */
function isCut({ byTrap, end_ns, passes }: Exposure, pass: number, gap_ns: number): boolean {
  return byTrap && pass === passes.count - 1 && end_ns - (passes.end_ns[pass] ?? 0) < gap_ns;
}

/** The most hits of a pass that a watch saw whole, and of one that its last trap cut. */
interface MostHits {
  readonly whole: number;
  readonly cut: number;
}

/** Of all passes of all watches, whether they count or not. */
function mostHits({ exposures, gap_ns }: WatchSet): MostHits {
  let [whole, cut] = [0, 0];
  for (const exposure of exposures) {
    exposure.passes.hits.forEach((hits, pass) => {
      if (isCut(exposure, pass, gap_ns)) cut = Math.max(cut, hits);
      else whole = Math.max(whole, hits);
    });
  }
  return { whole, cut };
}

/** Hits of the passes of a watch that count. */
function passHits(set: WatchSet, i: number, counting: PassCounting): PassHits {
  const exposure = set.exposures[i];
  if (exposure === undefined) return { hits: 0, passes: 0, cut: 0 };
  const { passes } = exposure;
  let hits = 0;
  let counted = 0;
  let cut = 0;
  for (const p of counting.passes(i)) {
    const times = counting.weight(i, passes.start_ns[p] ?? 0);
    hits += times * (passes.hits[p] ?? 0);
    counted += times;
    if (isCut(exposure, p, set.gap_ns)) cut += times;
  }
  return { hits, passes: counted, cut };
}

/** What passes have, as they are counted in one way; arrays by exposure, weighted by what its passes stand for. */
interface Counted {
  readonly hits: Float64Array;
  readonly passes: Float64Array;
  /** Passes of strata of which none was counted, over all that were, at most. */
  readonly undrawn: number;
  /** Passes that the last trap cut short, over all. */
  readonly cut: number;
  readonly by_time: number;
}

function countedBy(set: WatchSet, counting: PassCounting): Counted {
  const seen = set.exposures.map((_, i) => passHits(set, i, counting));
  const weights = countedWeights(set, counting);
  const weigh = (count: (one: PassHits) => number): Float64Array =>
    Float64Array.from(seen, (one, i) => count(one) * (weights[i] ?? 0));
  const sum = (values: Float64Array): number => values.reduce((a, b) => a + b, 0);
  const passes = weigh((one) => one.passes);
  const all = sum(passes);
  const cut = all > 0 ? sum(weigh((one) => one.cut)) / all : 0;
  const seenPasses = set.exposures.map((exposure) => exposure.passes.count);
  const counted = seen.map((one) => one.passes);
  return {
    hits: weigh((one) => one.hits),
    passes,
    undrawn: undrawnPasses(set, { time_ns: counting.held, weights, counted, seen: seenPasses }),
    cut: Math.max(cut, counting.cut),
    by_time: counting.by_time,
  };
}

/** As rates count passes; in shorter windows of time where those of whole steps are so long that last traps cut passes. */
function countedWhole(set: WatchSet): Counted {
  const likeRates = countedBy(set, countPasses(set, "seconds"));
  if (likeRates.cut <= MOST_CUT || likeRates.by_time === 1) return likeRates;
  return countedBy(set, overTime(set));
}

/** With room above for what the last trap cut off: each such pass may go on as long as any. @param cut its share of the passes */
const withCut = ({ value, lo, hi }: Interval, cut: number, most: number): Interval => ({
  value,
  lo,
  hi: hi === null ? null : hi + cut * most,
});

/** With room for passes of strata that show none: each may have one access, or as many as any of the others. */
function withUndrawnStrata({ value, lo, hi }: Interval, undrawn: number, most: number): Interval {
  return {
    value,
    lo: lo === null ? null : (lo + undrawn) / (1 + undrawn),
    hi: hi === null ? null : Math.max(hi, (hi + undrawn * most) / (1 + undrawn)),
  };
}

/** With room for passes that are one. @param parted their share of the passes */
const withFewer = ({ value, lo, hi }: Interval, parted: number): Interval => ({
  value,
  lo,
  hi: hi === null ? null : hi / (1 - parted),
});

const longer = ({ whole, cut }: MostHits): string =>
  `the trap limit cut a pass of ${cut} accesses or more, and none that was seen whole has more than ${whole}`;

function boundedReason(cut: number, most: MostHits | null, parted: number): string {
  if (isParted(parted)) return partedReason(parted);
  if (cut > MOST_CUT) return `the trap limit cut ${Math.round(100 * cut)} % of the passes short`;
  return most === null ? UNDRAWN : longer(most);
}

function figures(group: Group): Figure[] {
  const { uniform, gap_ns } = group;
  const { hits, passes, undrawn, cut, by_time } = countedWhole(uniform);
  const resampled = ratioInterval(hits, passes, uniform.resamples());
  const value = resampled.value ?? 1;
  const most = mostHits(uniform);
  // Two that follow each other within the gap are one, which no watch may have seen.
  const mostOfOne = Math.max(trapLimits(uniform)[0] ?? 1, 2 * most.whole);
  const unlike = { below: value - 1, above: Math.max(0, mostOfOne - value) };
  const counted = passes.filter((weight) => weight > 0);
  const roomy = withUnseen(resampled, effectiveSize(counted), 1, unlike);
  const echoed = withEcho(roomy, by_time > 0 ? by_time * armingEcho(uniform).share : 0);
  const drawn = { ...echoed, lo: echoed.lo === null ? null : Math.max(1, echoed.lo) };
  const parted = partedPasses(uniform).all;
  const mean = withFewer(withUndrawnStrata(withCut(drawn, cut, mostOfOne), undrawn, mostOfOne), parted);
  // However few such passes there are: they may have any number of accesses, and most of all.
  const isLonger = most.cut > most.whole;
  const isUndrawn = undrawn > MOST_UNDRAWN;
  const bounded = cut > MOST_CUT || isLonger || isUndrawn || isParted(parted);
  // Where passes that nobody saw decide, one access or more is no more than there can be.
  const least = isUndrawn && (mean.lo ?? 0) < LEAST_TOLD ? null : mean.lo;
  const n = counted.length;
  const few = n >= FEWEST ? (missedPasses(uniform) ?? tooFewOfUnnamed(uniform)) : null;
  return [
    {
      metric: "hits_per_pass",
      source: "watch",
      estimate: few !== null ? interval(null, null, null) : bounded ? interval(null, least, null) : mean,
      n,
      coverage: uniform.exposures.length > 0 ? n / uniform.exposures.length : null,
      grain_bytes: 8,
      method: `accesses over passes in whole steps, or in a common window, each by the bytes that it stands for; BCa over addresses; passes merged below ${formatNs(gap_ns)}`,
      bound: bounded,
      ...(few !== null ? { why: few } : bounded ? { why: boundedReason(cut, isLonger ? most : null, parted) } : {}),
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
  estimator: [
    "Accesses of passes over those passes, as they are counted for rates: of whole steps where steps are known, or of those that begin in a window after the arming; each address weighted by the bytes that it stands for.",
    "Where last traps would cut more than 1 % of the passes of whole steps, in the shorter windows.",
    "Passes that last traps cut may have as many more. Where one that a last trap cut has more accesses than any that was seen whole, there is no upper end: it may have any number.",
    "The interval allows for twice as many accesses as any pass that was seen whole, as two that meet are one, for as many as the lowest trap limit at least, or for one, in as many of the passes as may be unlike those that were seen, and in those that strata may have of which no watch counted a pass; where these may be more than were counted there is a lower bound only.",
  ],
  sources: [["watch", "every access to the watched bytes is seen"]],
  not_by_sampling: "a sample does not know the pass that it belongs to",
  suppressed:
    "n < 30 addresses, or without the tensors of an engine fewer than some 91, as of the rates; a lower bound where the trap limit cut more than 1 % of the passes short, or one that is longer than any that was seen whole, or where traps may have parted more than 20 % of the passes from the one before.",
  spans: "every",
  figures,
};
