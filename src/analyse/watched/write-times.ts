/** Times that begin at a write, of writes and reads picked at random by the watches: what is kept how long, and how old it is read. */
import type { Resamples } from "../../statistics/bootstrap.ts";
import { carryingUnits } from "../../statistics/carrying-units.ts";
import { clopperPearson } from "../../statistics/clopper-pearson.ts";
import type { Interval } from "../../statistics/interval.ts";
import { carryingUnitsOf, quantilesByEnds, type TimedCase } from "../../statistics/inverse-censoring.ts";
import type { RecurrentSample } from "../../statistics/survival/product-limit.ts";
import { boundedQuantiles, pooledSample, type UnitTimes } from "../../statistics/survival/recurrent-survival.ts";
import { MOST_CENSORED } from "../figures/figure-row.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { armingHolds, upTo, withArmings } from "./counting/arming-holds.ts";
import { CUT, countWindows, MOST_CUT, passesIn, passWeights, trapLimits } from "./counting/count-window.ts";
import { earliestShare, weighedByAge } from "./counting/moments-after-birth.ts";
import type { Exposure } from "./exposure.ts";
import { lookBackLaws } from "./look-back-laws.ts";
import { quantilesWithBusier } from "./rate/busier-quantiles.ts";
import { passRate } from "./rate/pass-rate.ts";
import { undrawnPasses } from "./rate/undrawn-passes.ts";
import { withoutTraps } from "./trap-delay.ts";
import { unwatchedPasses } from "./unwatched.ts";
import { type AgedRead, type WriteEpoch, writeHistory } from "./write-epoch.ts";

export interface TimesSeen {
  readonly estimates: Interval[];
  /** Of the same times without what traps may have added to them. */
  readonly shortest: Interval[];
  /** Addresses that show one. */
  readonly n: number;
  /** Of them those that show none to its end. */
  readonly n_censored: number;
  /** Share of the times that were cut short. */
  readonly censored: number;
  /** Why the estimates tell nothing: what busy words do is missing, be it longer or shorter; null where it is not. */
  readonly untold: string | null;
  /** How many addresses that count alike would carry as much. */
  readonly carrying: number;
  /** Such passes of strata of which none was counted, over those that were, at most. */
  readonly undrawn: number;
  /** Such passes over bytes that are busier than any that was drawn, over those that were counted, as far as lower ends allow for them. */
  readonly busier: number;
}

/** A write pass, and how often its data was read as far as that was seen. */
export interface WriteCase extends TimedCase {
  /** When its pass begins. */
  readonly begin_ns: number;
  /** Traps in its time. */
  readonly traps: number;
  readonly reads: number;
}

export interface Epochs {
  readonly cases: readonly WriteCase[];
  /** Share of their weight of which the k-th trap cut the time. */
  readonly cut: number;
  /** Write passes of strata without one among them, over these, at most. */
  readonly undrawn: number;
}

/** Each of these times is so much shorter than the one before. */
const STEP = 0.7;
/** Fewer writes than this and a shorter window is of no use. */
const FEW_WRITES = 30;

/** Those of some things of ascending passes whose pass is among these. */
function among<One extends { readonly pass: number }>(passes: Uint32Array, all: readonly One[]): One[] {
  let next = 0;
  return all.filter(({ pass }) => {
    while (next < passes.length && (passes[next] ?? 0) < pass) next++;
    return passes[next] === pass;
  });
}

/** What was written under each watch of a set: every window that is tried asks for it. */
interface Written {
  readonly epochs: readonly (readonly WriteEpoch[])[];
  /** Writes of each. */
  readonly hits: readonly number[];
}

const writtenIn = ({ exposures }: WatchSet): Written => ({
  epochs: exposures.map((exposure) => writeHistory(exposure).epochs),
  hits: exposures.map(({ passes }) => passes.writes.reduce((sum, writes) => sum + writes, 0)),
});

/** Write passes that begin within `share` of the windows of the watches with a trap limit of `limit` or more. */
function epochsIn(set: WatchSet, { epochs, hits }: Written, limit: number, length: number): Epochs {
  const time_ns = Float64Array.from(set.exposures, ({ watch, armed_ns, window_end_ns }) =>
    watch.trap_limit < limit ? 0 : Math.max(0, Math.min(length, window_end_ns - armed_ns - set.gap_ns)),
  );
  const lengths = time_ns.map((time) => (time > 0 ? length : 0));
  const windows = weighedByAge(set, lengths, time_ns);
  const weights = passWeights(set, windows.time_ns);
  const cases: WriteCase[] = [];
  const counted = new Uint32Array(time_ns.length);
  let all = 0;
  let cut = 0;
  let seenNs = 0;
  const stopped: (readonly [weight: number, writes: number, seen: number, unseen: number])[] = [];
  set.exposures.forEach((exposure, unit) => {
    const time = time_ns[unit] ?? 0;
    if (time === 0) return;
    const each = weights[unit] ?? 0;
    const before = cases.length;
    const inside = among(passesIn(set, unit, length), epochs[unit] ?? []);
    for (const { pass, need_ns, traps, reads, seen_ns, isWhole } of inside) {
      const begin_ns = exposure.passes.start_ns[pass] ?? 0;
      const weight = each * windows.weight(unit, begin_ns);
      const law = set.law[unit] ?? 0;
      cases.push({ unit, weight, law, seen: seen_ns, isWhole, value: need_ns, traps, reads, begin_ns });
      all += weight;
      if (!isWhole && exposure.byTrap) cut += weight;
    }
    counted[unit] = cases.length - before;
    const unseen = exposure.byTrap ? Math.max(0, exposure.armed_ns + set.gap_ns + time - exposure.end_ns) : 0;
    seenNs += each * (time - unseen);
    if (unseen > 0) stopped.push([each, cases.length - before, Math.max(time - unseen, set.gap_ns), unseen]);
  });
  // A watch that stopped inside the window may have missed writes: as many as it saw in its time, or as others saw in theirs.
  for (const [weight, writes, seen, unseen] of stopped) {
    cut += weight * unseen * Math.max(writes / seen, seenNs > 0 ? all / seenNs : 0);
  }
  const undrawn = undrawnPasses(set, { time_ns, weights, counted, seen: hits }) + unwatchedPasses(set);
  return { cases, cut: all > 0 ? Math.min(1, cut / all) : 0, undrawn };
}

/**
 * The longest windows in which the time from a write to the next is not cut by the k-th trap: of all watches, or where these have
 * none, of those with a high trap limit. Never of the few because they show more: they may do so as none of them fell on a busy word.
 */
export function bestEpochs(set: WatchSet): Epochs {
  let longest = 0;
  for (const e of set.exposures) longest = Math.max(longest, e.window_end_ns - e.armed_ns - set.gap_ns);
  const written = writtenIn(set);
  let least: Epochs | null = null;
  for (const limit of trapLimits(set)) {
    for (let length = longest; length > 4 * set.gap_ns; length *= STEP) {
      const epochs = epochsIn(set, written, limit, length);
      if (epochs.cases.length < FEW_WRITES) break;
      if (least === null || epochs.cut < least.cut) least = epochs;
      if (epochs.cut <= MOST_CUT) return epochs;
    }
  }
  return least ?? epochsIn(set, written, 0, longest);
}

const unitsOf = (cases: readonly { readonly unit: number }[]): Set<number> => new Set(cases.map(({ unit }) => unit));

/** Write passes as they would be with armings in them that the windows lack; null where these add nothing. */
function longerCases(set: WatchSet, cases: readonly WriteCase[]): WriteCase[] | null {
  const holds = armingHolds(set, () =>
    cases.flatMap(({ isWhole, begin_ns, value, weight }) =>
      isWhole ? [{ from: begin_ns, end: begin_ns + value, weight }] : [],
    ),
  );
  if (holds === null) return null;
  return withArmings(holds).flatMap(({ longer_ns, share }) =>
    // What is needed for no time has no arming in it.
    cases.map((one) => ({ ...one, weight: share * one.weight, value: one.value > 0 ? one.value + longer_ns : 0 })),
  );
}

/**
 * From a write to the last read before the next write or the free, over write passes.
 * @param unseen write passes that no watch can see, which may be of any time, over those that they see
 */
export function retentionSeen(set: WatchSet, qs: readonly number[], unseen = 0): TimesSeen {
  const epochs = bestEpochs(set);
  const { cases, cut } = epochs;
  const n = unitsOf(cases).size;
  // Busy words of which the k-th trap cut the times may have more of them than were drawn: theirs may be longer than any, or shorter.
  const mostCut = cut > 0 ? (clopperPearson(cut * n, n).hi ?? 1) : 0;
  const undrawn = epochs.undrawn + unseen + mostCut;
  const whole = cases.filter(({ isWhole }) => isWhole);
  const weigh = (some: readonly TimedCase[]): number => some.reduce((sum, { weight }) => sum + weight, 0);
  const shortest = cases.map((one) => ({ ...one, value: withoutTraps(one.value, one.traps, set.trap_ns) }));
  const { estimates, busier } = quantilesWithBusier(
    (missing) => quantilesByEnds(cases, qs, set.resamples(), missing),
    undrawn,
    () => passRate(set, "write").busier,
  );
  const longer = longerCases(set, cases);
  const most = longer === null ? null : quantilesByEnds(longer, qs, set.resamples(), undrawn);
  return {
    estimates: most === null ? estimates : estimates.map((one, k) => upTo(one, most[k]?.hi ?? null)),
    busier,
    shortest: quantilesByEnds(shortest, qs, set.resamples(), undrawn),
    undrawn,
    n,
    n_censored: n - unitsOf(whole).size,
    censored: cases.length > 0 ? 1 - weigh(whole) / weigh(cases) : 0,
    untold: cut > MOST_CUT ? CUT : null,
    carrying: carryingUnitsOf(cases),
  };
}

export interface Ages {
  readonly sample: RecurrentSample;
  /** The same without what traps may have added to each. */
  readonly shortest: () => RecurrentSample;
  /** Share of the bytes whose passes are cut. */
  readonly cut: number;
  /** Such passes of strata of which none was counted, over those that were, at most. */
  readonly undrawn: number;
  /** Such passes of the run, as the windows have them. */
  readonly passes: number;
}

type AgesOf = (exposure: Exposure) => readonly Pick<AgedRead, "pass" | "age_ns" | "traps" | "isKnown">[];

/**
 * Passes of which the last write was not seen in memory that had come in the time of a watch, over all. How far back these were looked at ends
 * with their memory, as their ages do: what others tell of ages as long is not true of them, so that they may be of any age.
 */
function shortSighted(units: readonly Required<UnitTimes>[], passes: ArrayLike<number>): number {
  let short = 0;
  let all = 0;
  units.forEach(({ weights: { complete, censored } }, i) => {
    const each = passes[i] ?? 0;
    for (const weight of complete) all += each * weight;
    for (const weight of censored) {
      all += each * weight;
      if (weight > 1) short += each * weight;
    }
  });
  return all > 0 ? short / all : 0;
}

/** Ages in the windows of the watches with a trap limit of `limit` or more. */
function agesIn(set: WatchSet, agesOf: AgesOf, limit: number): Ages {
  const { length_ns, time_ns, cut } = countWindows(set, limit);
  const windows = weighedByAge(set, length_ns, time_ns);
  const unitsOf = (timeOf: (one: ReturnType<AgesOf>[number]) => number) =>
    set.exposures.map((exposure, i) => {
      const aged = among(passesIn(set, i, length_ns[i] ?? 0), agesOf(exposure));
      const [complete, censored] = [aged.filter(({ isKnown }) => isKnown), aged.filter(({ isKnown }) => !isKnown)];
      const ages = (some: typeof aged): number[] => some.map(timeOf);
      const times = (some: typeof aged): number[] =>
        some.map(({ pass }) => windows.weight(i, exposure.passes.start_ns[pass] ?? 0));
      return {
        complete: ages(complete),
        censored: ages(censored),
        weights: { complete: times(complete), censored: times(censored) },
      };
    });
  const units = unitsOf(({ age_ns }) => age_ns);
  const weights = passWeights(set, windows.time_ns);
  const laws = lookBackLaws(set, length_ns);
  const counted = units.map(({ complete, censored }) => complete.length + censored.length);
  const seen = set.exposures.map((exposure) => agesOf(exposure).length);
  return {
    sample: pooledSample(units, weights, laws),
    shortest: () =>
      pooledSample(
        unitsOf(({ age_ns, traps }) => withoutTraps(age_ns, traps, set.trap_ns)),
        weights,
        laws,
      ),
    cut,
    undrawn:
      undrawnPasses(set, { time_ns, weights, counted, seen }) +
      earliestShare(windows, units, weights) +
      shortSighted(units, weights) +
      unwatchedPasses(set),
    passes: weights.reduce((sum, weight, i) => sum + weight * (counted[i] ?? 0), 0),
  };
}

/** True where the median of the ages has both ends. */
function isTold({ sample, cut, undrawn }: Ages, resamples: Resamples): boolean {
  if (cut > MOST_CUT || sample.censored > MOST_CENSORED) return false;
  return (boundedQuantiles(sample, [0.5], resamples, undrawn)[0]?.hi ?? null) !== null;
}

/**
 * From the last write to each of some passes, over such passes in the windows of all watches, or where these look back too shortly
 * for a median, of those with a high trap limit. Never of the few because they look back farther, as `bestEpochs` has it: their windows are longer where no
 * busy word was drawn for them. What they lack of the passes that all watches count is undrawn.
 */
export function passAges(set: WatchSet, agesOf: AgesOf): Ages {
  const limits = trapLimits(set);
  const all = agesIn(set, agesOf, limits[0] ?? 0);
  if (isTold(all, set.resamples())) return all;
  for (const limit of limits.slice(1)) {
    const few = agesIn(set, agesOf, limit);
    const lacking = few.passes > 0 ? Math.max(0, all.passes / few.passes - 1) : 0;
    const ages = { ...few, undrawn: few.undrawn + lacking };
    if (isTold(ages, set.resamples())) return ages;
  }
  return all;
}

/** From the last write to a read, over read passes. */
export const readAges = (set: WatchSet): Ages => passAges(set, (exposure) => writeHistory(exposure).reads);

/** Quantiles of those. */
export function agesSeen(set: WatchSet, qs: readonly number[]): TimesSeen {
  const { sample, shortest, cut, undrawn } = readAges(set);
  return {
    ...quantilesWithBusier(
      (missing) => boundedQuantiles(sample, qs, set.resamples(), missing),
      undrawn,
      () => passRate(set, "read", true).busier,
    ),
    shortest: boundedQuantiles(shortest(), qs, set.resamples(), undrawn),
    undrawn,
    n: sample.n,
    n_censored: sample.n_censored,
    censored: sample.censored,
    untold: cut > MOST_CUT ? CUT : null,
    carrying: carryingUnits(sample.unit_weight),
  };
}
