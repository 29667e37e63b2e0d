/** Time between passes over a byte. */

import { carryingUnits } from "../../statistics/carrying-units.ts";
import { type Interval, isWithoutEnds } from "../../statistics/interval.ts";
import type { RecurrentSample } from "../../statistics/survival/product-limit.ts";
import { boundedQuantiles, pooledSample, type UnitTimes } from "../../statistics/survival/recurrent-survival.ts";
import { formatNs } from "../../units.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { Group } from "../input/group.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { streamQuantiles } from "../stream/stream-figures.ts";
import { armingEcho, echoReason, isLoud, timesWithEcho } from "../watched/counting/arming-echo.ts";
import { type ArmingHolds, armingHolds, type SeenTime, upTo, withArmings } from "../watched/counting/arming-holds.ts";
import { CUT, countWindows, MOST_CUT, passesIn, passWeights } from "../watched/counting/count-window.ts";
import { earliestShare, windowsByAge } from "../watched/counting/moments-after-birth.ts";
import { tooFewOfUnnamed } from "../watched/few-watches.ts";
import { bornPerSecond } from "../watched/first-writes.ts";
import { movesTimes, partedPasses, partedReason, timesOfParted } from "../watched/parted-passes.ts";
import { BUSIER } from "../watched/rate/busier-bytes.ts";
import { quantilesWithBusier } from "../watched/rate/busier-quantiles.ts";
import { fewCarry, isCarriedByFew, passRate, seenOutside } from "../watched/rate/pass-rate.ts";
import { UNDRAWN, undrawnPasses } from "../watched/rate/undrawn-passes.ts";
import { allowingForTraps, withoutTraps } from "../watched/trap-delay.ts";
import { missedPasses, unwatchedPasses } from "../watched/unwatched.ts";
import type { Figure, MetricFamily } from "./metric.ts";

const QUANTILES = [
  ["iai_p50_ns", 0.5, 0],
  ["iai_p90_ns", 0.9, 0],
  ["iai_p99_ns", 0.99, 299],
] as const;

const NOTHING = { value: null, lo: null, hi: null };

/** For each pass in the window of a watch the time to the next pass, start to start; of one with no next, what was seen. */
function passIntervals(
  set: WatchSet,
  i: number,
  length: number,
  timeOf: (time_ns: number, traps: number) => number,
): Required<UnitTimes> {
  const exposure = set.exposures[i];
  const complete: number[] = [];
  const censored: number[] = [];
  const weights = { complete: [] as number[], censored: [] as number[] };
  if (exposure === undefined) return { complete, censored, weights };
  const { weight } = windowsByAge(set);
  const { start_ns, hits, count } = exposure.passes;
  for (const p of passesIn(set, i, length)) {
    const start = start_ns[p] ?? 0;
    const isWhole = p + 1 < count;
    const time = (isWhole ? (start_ns[p + 1] ?? 0) : exposure.end_ns) - start;
    (isWhole ? complete : censored).push(timeOf(time, hits[p] ?? 0));
    weights[isWhole ? "complete" : "censored"].push(weight(i, start));
  }
  return { complete, censored, weights };
}

function everyFigures(group: Group): Figure[] {
  if (group.stream === null) return [];
  const method = "KM of the time from each access to the next one to its address, n counts accesses";
  return streamQuantiles(group.stream.intervals, QUANTILES, method, "no access follows the last one to an address");
}

/** The time from each pass in the windows to the next one, by passes picked at random. */
export interface Intervals {
  /** Each by the bytes that it stands for. */
  readonly sample: RecurrentSample;
  /** The same without what traps may have added to each. */
  readonly shortest: () => RecurrentSample;
  /** The same with the armings in them that the windows lack; null where these matter nothing. */
  readonly longest: () => RecurrentSample | null;
  /** Passes of strata without one in the windows, and of memory that had just come, over those in the windows, at most. */
  readonly undrawn: number;
}

/** Times of an address as they would be with armings in them that the windows lack. */
function madeLonger({ complete, censored, weights }: Required<UnitTimes>, holds: ArmingHolds): Required<UnitTimes> {
  const parts = withArmings(holds);
  const longer = (times: readonly number[]): number[] =>
    parts.flatMap(({ longer_ns }) => times.map((time) => time + longer_ns));
  const parted = (each: readonly number[]): number[] =>
    parts.flatMap(({ share }) => each.map((weight) => share * weight));
  return {
    complete: longer(complete),
    censored: longer(censored),
    weights: { complete: parted(weights.complete), censored: parted(weights.censored) },
  };
}

/** The times between passes that windows hold and that were seen to their end. */
function* wholeTimes(set: WatchSet, length_ns: ArrayLike<number>, weights: ArrayLike<number>): Generator<SeenTime> {
  for (const [i, { passes }] of set.exposures.entries()) {
    for (const p of passesIn(set, i, length_ns[i] ?? 0)) {
      if (p + 1 >= passes.count) continue;
      yield { from: passes.start_ns[p] ?? 0, end: passes.start_ns[p + 1] ?? 0, weight: weights[i] ?? 0 };
    }
  }
}

export function intervalsSeen(group: Group): Intervals {
  const set = group.uniform;
  const { length_ns } = countWindows(set);
  const windows = windowsByAge(set);
  const { time_ns } = windows;
  const unitsOf = (timeOf: (time_ns: number, traps: number) => number): Required<UnitTimes>[] =>
    set.exposures.map((_, i) => passIntervals(set, i, length_ns[i] ?? 0, timeOf));
  const units = unitsOf((time) => time);
  const weights = passWeights(set, time_ns);
  const counted = units.map(({ complete, censored }) => complete.length + censored.length);
  const seen = set.exposures.map(({ passes }) => passes.count);
  return {
    sample: pooledSample(units, weights, set.law),
    shortest: () =>
      pooledSample(
        unitsOf((time, traps) => withoutTraps(time, traps, set.trap_ns)),
        weights,
        set.law,
      ),
    longest: () => {
      const holds = armingHolds(set, () => wholeTimes(set, length_ns, weights));
      if (holds === null) return null;
      return pooledSample(
        units.map((unit) => madeLonger(unit, holds)),
        weights,
        set.law,
      );
    },
    undrawn:
      undrawnPasses(set, { time_ns, weights, counted, seen }) +
      earliestShare(windows, units, weights) +
      firstPasses(group, weights, counted) +
      unwatchedPasses(set),
  };
}

/** Passes over bytes that are used more often than any that was drawn, over all that were counted, at most. */
function busierShare({ uniform, stores }: Group): number {
  return Math.max(passRate(uniform, "read", true).busier, passRate(stores, "write").busier);
}

interface Told {
  readonly estimate: Interval;
  /** Why it has no end. */
  readonly why?: string;
}

/** The quantiles with their intervals. */
function quantilesTold(group: Group, { sample, shortest, longest, undrawn }: Intervals): Told[] {
  const qs = QUANTILES.map(([, q]) => q);
  const resamples = group.uniform.resamples();
  const { estimates, busier } = quantilesWithBusier(
    (missing) => boundedQuantiles(sample, qs, resamples, missing),
    undrawn,
    () => busierShare(group),
  );
  const least = boundedQuantiles(shortest(), qs, resamples, undrawn);
  const longer = longest();
  const most = longer === null ? null : boundedQuantiles(longer, qs, resamples, undrawn);
  return estimates.map((drawn, k) => {
    const seen = most === null ? drawn : upTo(drawn, most[k]?.hi ?? null);
    const { estimate, why } = allowingForTraps(seen, least[k] ?? NOTHING);
    if (!isWithoutEnds(seen)) return { estimate, ...(why === null ? {} : { why }) };
    return { estimate: NOTHING, ...(busier > 0 ? { why: BUSIER } : undrawn > 0 ? { why: UNDRAWN } : {}) };
  });
}

/**
 * The first passes of memory that came, over those that were counted, at most: a byte is used as it comes, before a watch can be drawn
 * from it, and mostly once.
 */
function firstPasses(group: Group, weights: Float64Array, counted: readonly number[]): number {
  const born = bornPerSecond(group);
  // A pass stands for the bytes of its stratum over the time of its windows: together, passes times bytes in a ns.
  const perSecond = 1e9 * counted.reduce((sum, count, i) => sum + count * (weights[i] ?? 0), 0);
  return born > 0 && perSecond > 0 ? born / perSecond : 0;
}

/** Why no pass counts. */
function noneReason({ exposures }: WatchSet): string {
  const seen = exposures.filter(({ passes }) => passes.count > 0).length;
  if (seen === 0) return `no access to ${exposures.length} watched addresses`;
  return seenOutside(seen, exposures.length);
}

function watchFigures(group: Group): Figure[] {
  const { uniform } = group;
  const { cut } = countWindows(uniform);
  const seen = intervalsSeen(group);
  const { sample } = seen;
  const carrying = carryingUnits(sample.unit_weight);
  const echo = armingEcho(uniform).share;
  const isEnough = sample.n >= FEWEST;
  const isFew = isEnough && isCarriedByFew(carrying);
  const few = isFew ? fewCarry(carrying) : isEnough ? tooFewOfUnnamed(uniform) : null;
  const why = (isEnough ? missedPasses(uniform) : null) ?? (cut > MOST_CUT ? CUT : few);
  const parted = partedPasses(uniform).all;
  const bounded = isLoud(echo) ? echoReason(echo) : movesTimes(parted) ? partedReason(parted) : null;
  const said = why ?? bounded;
  const quantiles = quantilesTold(group, seen);
  return QUANTILES.map(([metric, , fewest], k) => ({
    metric,
    source: "watch",
    estimate: why === null ? timesOfParted(timesWithEcho(quantiles[k]?.estimate ?? NOTHING, echo), parted) : NOTHING,
    ...(quantiles[k]?.why === undefined || !isEnough ? {} : { why: quantiles[k].why }),
    n: sample.n,
    n_censored: sample.n_censored,
    // However many are cut short: the curve ends where too few were looked at so long.
    censored: 0,
    coverage: sample.coverage,
    grain_bytes: 8,
    fewest_for_hi: fewest,
    method: `KM of the passes in a common window, each by the bytes that it stands for; interval by the share up to each time, addresses resampled; passes merged below ${formatNs(group.gap_ns)}`,
    ...(said === null ? {} : { why: said }),
    ...(sample.n === 0 && uniform.exposures.length > 0 ? { why: noneReason(uniform) } : {}),
  }));
}

export const interAccessInterval: MetricFamily = {
  metrics: [
    ["p50", "Median"],
    ["p90", "90th percentile"],
    ["p99", "99th percentile"],
  ].map(([p = "", words]) => ({
    name: `iai_${p}_ns`,
    unit: "ns",
    definition: `${words}, over passes, of the time from the start of a pass over a byte to the start of the next pass over it. A byte that is used often has many passes, and counts with each.`,
    formula: `Q_${p.slice(1)} of t(next pass over b) - t(p), over passes p of every b`,
    averaged_over: "passes",
  })),
  estimator: [
    "The passes in a window after the arming, as they are counted for rates: each is a pass picked at random.",
    "The time to the next one is right-censored where the watch ended before it.",
    "Watches are given more time while tokens are long: how long it is to the next pass is told of each law by which they were given it by those of that law, and the curve ends where more than 2 % of the passes are left under one that too few were looked at so long by.",
    "Product-limit curve, each pass weighted by the bytes that it stands for, as far as each that was looked at so long stands for fewer than five like it; intervals by the share of the passes up to each time (Woodruff), whose spread is that of addresses resampled within strata, and which reaches farther on the side on which few heavy addresses may be missing.",
    "Strata of which no watch saw a pass in the time that counts may have some all the same (Clopper-Pearson): and so may watches of which a trap was lost: the interval holds that all of theirs are shorter, and that all are longer.",
    "Soon after memory came fewer windows hold a pass than later: each counts by the inverse of the chance that one does, for 20 at most, and as many as are among the earliest may lie before these; each byte that came has a first pass that no watch saw, which may be of any time to the next.",
    "Where addresses are very unlike and the quantile has no upper end, its lower end holds that passes over busier bytes, of which none was drawn, are shorter, as many as the rates allow for.",
    "Intervals shorter than the pass gap cannot appear.",
    "The program stands still in traps: the lower end allows for those in each, as long as they are in the mean and twice the root of their number more; where these may be more than half of it, there is no value.",
    "The one in which a watch is armed is seen by others only: where the windows begin with fewer passes than they go on with, in part from two standard errors on, or first passes are fewer in a time right after armings than in as long a time behind it, in part from three and a half, the program stands still at armings, and the upper end allows for twice what they lack; above a fifth of the passes there is a lower bound only.",
    "Other watches are armed in times that are seen, less often than in others, as each arming waits for its turn: where times over one to four passes are longer by what was armed in their first part, in part from two standard errors on, the upper end allows for as many armings as they lack, each as long as that with twice its error.",
    "Of traces that hold every access each access counts alike. No other follows the last one to an address before the end: the lower end takes that one does there, the upper one that none ever does.",
  ],
  sources: [
    ["watch", "every access to the watched bytes is seen"],
    ["import", "traces that hold every access, by address in place of byte and pass"],
  ],
  not_by_sampling: "intervals between samples measure the sampling period, not the program",
  suppressed:
    "n < 30 addresses, or without the tensors of an engine fewer than some 91, as of the rates; nothing looked at in more than 2 % of the time; the quantile not reached, or more than 5 % of the passes so near the one before that traps may have parted them (bound from below); p99 with fewer than 299 addresses (bound from below); loss above 1 %.",
  needs_every_access: true,
  spans: "every",
  figures: (group) => [...watchFigures(group), ...everyFigures(group)],
};
