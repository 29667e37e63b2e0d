/** Quantiles of how long KV rows were needed, over sequences: how many there were decides what may be said. */

import { resample } from "../../statistics/bootstrap.ts";
import { expandedLevel } from "../../statistics/expanded-tail.ts";
import { CI_LEVEL, interval } from "../../statistics/interval.ts";
import {
  effectiveUnits,
  latestQuantiles,
  recurrentQuantiles,
  recurrentSample,
  seenIntervals,
  seenQuantiles,
  type UnitTimes,
} from "../../statistics/survival/recurrent-survival.ts";
import { someRow } from "../input/chosen-rows.ts";
import type { Group } from "../input/group.ts";
import { type Figure, notIdentifiable } from "../metrics/metric.ts";
import { type KvUnits, kvUnits, MOST_MOVED } from "./kv-need.ts";
import { rowRoom } from "./shared-rows.ts";

/** Fewest sequences of which an interval is made; with fewer only what was seen is told. */
export const FEWEST_SEQUENCES = 6;
/**
 * Fewest sequences for the upper end of a quantile: with fewer, the longest of servers whose answers are very unlike may
 * not have come yet (tests/validity/analyse/kv-coverage.test.ts).
 */
const FEWEST_FOR_HI: readonly (readonly [q: number, sequences: number])[] = [
  [0.5, 12],
  [0.9, 300],
  [1, 3000],
];
/** As many sequences of one size must lie beyond the quantile. */
const FEWEST_BEYOND = 5;

/** Enough for tails of 1 %: a unit has very many times here. */
const REPLICATES = 499;

/** A metric of times of KV rows: which times, and in what words. */
export interface KvNeedTimes {
  /** Name of the metric, the quantile, and the fewest samples for its upper end; quantiles ascending. */
  readonly quantiles: readonly (readonly [metric: string, q: number, fewestForHi: number])[];
  /** The times of each sequence, its weight, and the sequences with a time of which one end was not seen. */
  readonly ofRows: (units: KvUnits) => {
    readonly times: readonly UnitTimes[];
    readonly weights: readonly number[];
    readonly open: number;
  };
  /** The share that early batches may have of what these times are weighed by. */
  readonly earlyShare: "written_share" | "needed_share";
  readonly stepMethod: string;
  /** Why a time of KV rows is open. */
  readonly stepOpen: string;
  /** Why copies of rows that each step makes anew have no such time; they have one unless told. */
  readonly notOfCopies?: string;
  /** Stream of the random numbers for the bootstrap. */
  readonly stream: number;
}

/** "1 sequence", "5 sequences". */
function sequences(n: number): string {
  return `${n} sequence${n === 1 ? "" : "s"}`;
}

/** Why so few sequences give no interval. */
export function tooFewSequences(n: number): string {
  return `${sequences(n)}, fewer than ${FEWEST_SEQUENCES}`;
}

/**
 * Level at which a bootstrap has the tails of Student's t where as many sequences of one size would tell as much: of sequences that
 * are very unlike the longest tell most, and they are few.
 */
export function levelFor(effective: number): number {
  return expandedLevel(CI_LEVEL, effective);
}

/**
 * What an upper end at a quantile needs: so many sequences, and so many of one size; `isFar` where there are fewer.
 * @param highest the quantile of what is known that the upper end lies at
 */
export function upperEndNeeds(q: number, n: number, effective: number, highest = q) {
  const wanted = FEWEST_FOR_HI.find(([most]) => q <= most)?.[1] ?? 0;
  const alike = Math.ceil(FEWEST_BEYOND / (1 - highest) - 1e-9);
  return { wanted, alike, isFar: n < wanted || effective < alike };
}

/** One figure per quantile; none where there are no rows. */
export function kvNeedFigures(group: Group, need: KvNeedTimes): Figure[] {
  const { kvRows, kvUntold, input } = group;
  if (kvUntold !== null) return need.quantiles.map(([metric]) => notIdentifiable(metric, "step", 0, kvUntold));
  if (kvRows.length === 0) return [];
  const { notOfCopies = null } = need;
  if (notOfCopies !== null && someRow(kvRows, ({ is_copy }) => is_copy === true)) {
    return need.quantiles.map(([metric]) => notIdentifiable(metric, "step", 0, notOfCopies));
  }
  const { times, weights, open } = need.ofRows(kvUnits(kvRows));
  const n = times.length;
  const qs = need.quantiles.map(([, q]) => q);
  const sample = recurrentSample(times, weights);
  const { method, why } = { method: need.stepMethod, why: need.stepOpen };
  // The times of early rows may all be shorter than those that are known, or all longer.
  const { early: share, again, reasons: early } = rowRoom(group, need.earlyShare);
  // Rows that are counted too often may be those with the longest times, or with the shortest.
  const lowQs = qs.map((q) => ((q - share) / (1 - share)) * (1 - again));
  const highQs = qs.map((q) => again + (q / (1 - share)) * (1 - again));
  const lowEnd = (k: number, time: number | null): number | null => ((lowQs[k] ?? 0) > 0 ? time : 0);
  const base = {
    source: "step",
    n,
    n_censored: open,
    censored: sample.censored,
    coverage: 1,
    fewest: FEWEST_SEQUENCES,
  };
  if (n < FEWEST_SEQUENCES) {
    const seen = seenQuantiles(sample, lowQs).map((time) => (time === null ? null : time * (1 - MOST_MOVED)));
    return need.quantiles.map(([metric], k) => ({
      ...base,
      metric,
      method,
      estimate: interval(null, open > 0 ? lowEnd(k, seen[k] ?? null) : null, null),
      // What is still open was needed for so long at least, whatever comes.
      ...(open > 0 ? { bound: true, census: true } : {}),
      why: [open > 0 ? `${tooFewSequences(n)}, and ${why}: so long at least` : tooFewSequences(n), ...early].join("; "),
    }));
  }
  const resamples = resample(new Uint8Array(n), input.seed, need.stream, REPLICATES);
  const effective = effectiveUnits(sample);
  const level = levelFor(effective);
  const found = recurrentQuantiles(sample, qs, resamples, level);
  const lower = share + again > 0 ? recurrentQuantiles(sample, lowQs, resamples, level) : found;
  const higher = share + again > 0 ? recurrentQuantiles(sample, highQs, resamples, level) : found;
  // An open row may be needed no more, or go on as others did: the interval reaches from the one to the other.
  const seen = open > 0 ? seenIntervals(sample, lowQs, resamples, level) : lower;
  // In this run itself, whatever becomes of what is open; where that may be more than all beyond the quantile there is no end.
  const latest = latestQuantiles(sample, highQs);
  return need.quantiles.map(([metric, q], k) => {
    const value = found[k]?.value ?? null;
    const lo = lowEnd(k, lower[k]?.lo ?? null);
    const least = lowEnd(k, seen[k]?.lo ?? null);
    const low = lo === null || least === null ? (lo ?? least) : Math.min(lo, least);
    const highest = highQs[k] ?? 1;
    const { wanted, alike, isFar } = upperEndNeeds(q, n, effective, highest);
    const last = latest[k] ?? null;
    const hi = isFar || highest >= 1 || last === null ? null : (higher[k]?.hi ?? null);
    const few =
      n < wanted
        ? `${n} sequences: an upper end this far out needs ${wanted}`
        : `as much as ${effective.toFixed(1)} sequences of one size: an upper end this far out needs ${alike}`;
    const reasons = [...(open > 0 ? [why] : []), ...(isFar && highest < 1 ? [few] : []), ...early];
    return {
      ...base,
      metric,
      method,
      estimate: interval(
        value,
        low === null ? null : low * (1 - MOST_MOVED),
        hi === null || last === null ? null : Math.max(hi, last) * (1 + MOST_MOVED),
      ),
      ...(reasons.length > 0 ? { why: reasons.join("; ") } : {}),
    };
  });
}
