/** Quantiles of times that begin at a write: what the engine's steps and the watches say of them. */
import { interval, isWithoutEnds } from "../../statistics/interval.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { Group } from "../input/group.ts";
import type { AccessStream } from "../input/input.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { isUnwritable } from "../input/write-rights.ts";
import { type Figure, noWriteReason } from "../metrics/metric.ts";
import { type KvNeedTimes, kvNeedFigures } from "../steps/kv-need-figures.ts";
import type { BinnedTimes } from "../stream/binned-times.ts";
import { streamQuantiles, sumOf } from "../stream/stream-figures.ts";
import { unknownReasonOf } from "../stream/unknown-kinds.ts";
import { tooFewOfUnnamed } from "./few-watches.ts";
import { firstWriteShare, firstWritesReason, MOST_FIRST_WRITES } from "./first-writes.ts";
import { movesTimes, partedPasses, partedReason, timesOfParted } from "./parted-passes.ts";
import { BUSIER } from "./rate/busier-bytes.ts";
import { fewCarry, isCarriedByFew, type PassKind } from "./rate/pass-rate.ts";
import { UNDRAWN } from "./rate/undrawn-passes.ts";
import { allowingForTraps } from "./trap-delay.ts";
import { missedPasses } from "./unwatched.ts";
import { unknownShare } from "./write-epoch.ts";
import type { TimesSeen } from "./write-times.ts";

/** Hits of unknown kind above this share may hide writes: no figure. */
const MOST_UNKNOWN = 0.01;

/** A metric of this kind: which times, and how its rows name the estimator. */
export interface EpochTimes extends KvNeedTimes {
  /** @param unseen passes that no watch can see, over those that they see, at most */
  readonly ofWatch: (set: WatchSet, qs: readonly number[], unseen: number) => TimesSeen;
  readonly ofStream: (stream: AccessStream) => BinnedTimes;
  readonly watchMethod: string;
  readonly streamMethod: string;
  /** Why a time of a stream is open. */
  readonly streamOpen: string;
  /** True where a hit of unknown kind, which may be a write, would end a time too late. */
  readonly needsEveryWrite: boolean;
  /** The passes over which the times are told. */
  readonly over: PassKind;
  /** Where fewer addresses than this carry the times there is no figure. */
  readonly fewestCarrying: number;
}

const NOTHING = interval(null, null, null);

/** Where nothing was written there are no times since. */
const NOTHING_SEEN: TimesSeen = {
  estimates: [],
  shortest: [],
  n: 0,
  n_censored: 0,
  censored: 0,
  untold: null,
  carrying: 0,
  undrawn: 0,
  busier: 0,
};

function watchFigures(group: Group, epochs: EpochTimes): Figure[] {
  const set = group.uniform;
  const written = set.exposures.some(({ passes }) => passes.writes.some((writes) => writes > 0));
  const unknown = epochs.needsEveryWrite ? unknownShare(set.exposures) : 0;
  const first = epochs.needsEveryWrite ? firstWriteShare(group) : 0;
  const hidden = unknown > MOST_UNKNOWN;
  const qs = epochs.quantiles.map(([, q]) => q);
  const seen = written ? epochs.ofWatch(set, qs, first / (1 - first)) : NOTHING_SEEN;
  const isNeverWritten = !written && (set.exposures.length > 0 || isUnwritable(group));
  const isEnough = seen.n >= FEWEST;
  const carried = isCarriedByFew(seen.carrying, epochs.fewestCarrying) ? fewCarry(seen.carrying) : tooFewOfUnnamed(set);
  const tooFew = isEnough ? (missedPasses(set) ?? carried) : null;
  const parted = partedPasses(set)[epochs.over];
  return epochs.quantiles.map(([metric, , fewest], k) => {
    const found = hidden || tooFew !== null || seen.untold !== null ? undefined : seen.estimates[k];
    const trapped = found === undefined ? undefined : allowingForTraps(found, seen.shortest[k] ?? NOTHING);
    // With neither end nothing says how far off a value may be.
    const roomy = trapped && timesOfParted(trapped.estimate, parted);
    const estimate = isWithoutEnds(found) ? NOTHING : roomy;
    const without = first > MOST_FIRST_WRITES ? firstWritesReason(first) : UNDRAWN;
    const missing = seen.busier > 0 ? BUSIER : seen.undrawn > 0 ? without : null;
    const near = movesTimes(parted) && !isWithoutEnds(estimate) ? partedReason(parted) : null;
    const untold = (isWithoutEnds(found) ? missing : null) ?? trapped?.why ?? near;
    const few = tooFew ?? seen.untold ?? untold;
    const why = hidden ? `${Math.round(100 * unknown)} % of the hits may be writes` : few;
    return {
      metric,
      source: "watch",
      estimate: estimate ?? NOTHING,
      n: written ? seen.n : set.exposures.length,
      n_censored: seen.n_censored,
      censored: estimate?.value === null ? seen.censored : 0,
      grain_bytes: 8,
      fewest_for_hi: fewest,
      method: epochs.watchMethod,
      ...(why === null ? {} : { why }),
      ...(isNeverWritten ? { not_identifiable: true, why: noWriteReason(group) } : {}),
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
  const hidden = unknownReasonOf(group);
  if (hidden !== null) return figures.map((figure) => ({ ...figure, estimate: NOTHING, why: hidden }));
  if (sumOf(group.stream.written) > 0) return figures;
  return figures.map((figure) => ({ ...figure, not_identifiable: true, why: "no store in the trace" }));
}

/** One figure per quantile from the engine's steps, where it has a KV cache, and from the watches. */
export function epochFigures(group: Group, epochs: EpochTimes): Figure[] {
  return [...kvNeedFigures(group, epochs), ...watchFigures(group, epochs), ...everyFigures(group, epochs)];
}
