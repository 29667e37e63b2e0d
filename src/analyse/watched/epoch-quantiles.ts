/** Quantiles of times that begin at a write: what the engine's steps and the watches say of them. */
import { resample } from "../../statistics/bootstrap.ts";
import { interval } from "../../statistics/interval.ts";
import { boundedQuantiles, type UnitTimes } from "../../statistics/recurrent-survival.ts";
import type { Group, WatchSet } from "../input/group.ts";
import type { AccessStream } from "../input/input.ts";
import { type Figure, noWriteReason } from "../metrics/metric.ts";
import { kvUnits } from "../steps/kv-need.ts";
import type { BinnedTimes } from "../stream/binned-times.ts";
import { streamQuantiles, sumOf } from "../stream/stream-figures.ts";
import { unknownShare } from "./write-epoch.ts";
import type { TimesSeen } from "./write-times.ts";

/** Hits of unknown kind above this share may hide writes: no figure. */
const MOST_UNKNOWN = 0.01;

/** A metric of this kind: which times, and how its rows name the estimator. */
export interface EpochTimes {
  /** Name of the metric, the quantile, and the fewest samples for its upper end; quantiles ascending. */
  readonly quantiles: readonly (readonly [metric: string, q: number, fewestForHi: number])[];
  /** Times of KV rows by steps, the weight of each unit, and the units with a time of which one end was not seen. */
  readonly ofRows: (units: ReturnType<typeof kvUnits>) => {
    readonly times: readonly UnitTimes[];
    readonly weights: readonly number[];
    readonly open: number;
  };
  readonly ofWatch: (set: WatchSet, qs: readonly number[]) => TimesSeen;
  readonly ofStream: (stream: AccessStream) => BinnedTimes;
  readonly stepMethod: string;
  /** Why a time of KV rows is open. */
  readonly stepOpen: string;
  readonly watchMethod: string;
  readonly streamMethod: string;
  /** Why a time of a stream is open. */
  readonly streamOpen: string;
  /** Stream of the random numbers for the steps' bootstrap. */
  readonly stream: number;
  /** True where a hit of unknown kind, which may be a write, would end a time too late. */
  readonly needsEveryWrite: boolean;
}

function stepFigures(group: Group, epochs: EpochTimes): Figure[] {
  if (group.kvRows.length === 0) return [];
  const { times, weights, open } = epochs.ofRows(kvUnits(group.kvRows));
  const resamples = resample(new Uint8Array(times.length), group.input.seed, epochs.stream);
  const qs = epochs.quantiles.map(([, q]) => q);
  const { sample, estimates } = boundedQuantiles(times, weights, qs, resamples);
  return epochs.quantiles.map(([metric, , fewest], k) => ({
    metric,
    source: "step",
    estimate: estimates[k] ?? interval(null, null, null),
    n: sample.n,
    n_censored: open,
    censored: sample.censored,
    coverage: 1,
    fewest_for_hi: fewest,
    method: epochs.stepMethod,
    ...(open > 0 ? { why: epochs.stepOpen } : {}),
  }));
}

function watchFigures(group: Group, epochs: EpochTimes): Figure[] {
  const set = group.uniform;
  const written = set.exposures.some(({ passes }) => passes.writes.some((writes) => writes > 0));
  const unknown = epochs.needsEveryWrite ? unknownShare(set.exposures) : 0;
  const hidden = unknown > MOST_UNKNOWN;
  const seen = epochs.ofWatch(
    set,
    epochs.quantiles.map(([, q]) => q),
  );
  return epochs.quantiles.map(([metric, , fewest], k) => {
    const estimate = hidden ? undefined : seen.estimates[k];
    const why = hidden ? `${Math.round(100 * unknown)} % of the hits may be writes` : seen.bound;
    return {
      metric,
      source: "watch",
      estimate:
        estimate === undefined
          ? interval(null, null, null)
          : seen.bound === null
            ? estimate
            : { value: null, lo: estimate.lo, hi: null },
      n: written ? seen.n : set.exposures.length,
      n_censored: seen.n_censored,
      censored: estimate?.value === null ? seen.censored : 0,
      grain_bytes: 8,
      fewest_for_hi: fewest,
      bound: seen.bound !== null,
      method: epochs.watchMethod,
      ...(why === null ? {} : { why }),
      ...(written || set.exposures.length === 0 ? {} : { not_identifiable: true, why: noWriteReason(group) }),
    };
  });
}

function everyFigures(group: Group, epochs: EpochTimes): Figure[] {
  if (group.stream === null) return [];
  const figures = streamQuantiles(
    epochs.ofStream(group.stream),
    epochs.quantiles,
    epochs.streamMethod,
    epochs.streamOpen,
  );
  if (sumOf(group.stream.written) > 0) return figures;
  return figures.map((figure) => ({ ...figure, not_identifiable: true, why: "no store in the trace" }));
}

/** One figure per quantile from the engine's steps, where it has a KV cache, and from the watches. */
export function epochFigures(group: Group, epochs: EpochTimes): Figure[] {
  return [...stepFigures(group, epochs), ...watchFigures(group, epochs), ...everyFigures(group, epochs)];
}
