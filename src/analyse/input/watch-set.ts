/** Watches of some designs in a span, weighted back to the bytes that they were drawn from. */
import { type Resamples, resample } from "../../statistics/bootstrap.ts";
import type { ArmingsIn } from "../watched/counting/arming-holds.ts";
import { type LawAt, withMany } from "../watched/dwell-laws.ts";
import { type Exposure, exposureIn, isGivenIn } from "../watched/exposure.ts";
import { bytesError, type DesignWeights, designWeights, weightsOverTime } from "../watched/horvitz-thompson.ts";
import type { TrapsIn } from "../watched/rate/held-up.ts";
import { type sharesOfTurns, stratumLives } from "../watched/stratum-life.ts";
import type { UnseenIn } from "../watched/unseen-in.ts";
import { unmetShare } from "../watched/young-memory.ts";
import type { WatchSample } from "./input.ts";
import type { RegionSet } from "./region-set.ts";
import type { Span } from "./span.ts";

/** Arrays are parallel. */
export interface WatchSet {
  readonly span: Span;
  readonly gap_ns: number;
  /** Mean time for which the program stands still in a trap. */
  readonly trap_ns: number;
  /** Share of the span in which no watch of any class began for long. */
  readonly unwatched: number;
  /** Share of the class's bytes and time in which they were too young to be drawn, or in regions that were gone before a draw met them. */
  readonly young: number;
  /** Watches of which a trap was lost, over all: as lostShare has it. */
  readonly lost: number;
  /** Bytes of pages that came by themselves, per second, as touchedPerSecond has it. */
  readonly touched_per_s: number;
  /** Draws of the same strata that fell on memory of another class, and the regions of this one. */
  readonly strays: readonly WatchSample[];
  readonly regions: RegionSet;
  readonly exposures: readonly Exposure[];
  /** By which law each was given its time: one that few were given it by counts as its neighbour. */
  readonly law: Uint32Array;
  readonly lawAt: LawAt;
  /** Of a moment: as rarityOver has it of the watches of these designs. */
  readonly rarityAt: (begin_ns: number) => number;
  readonly weights: DesignWeights;
  /** Standard error of the bytes of all of its strata over them. */
  readonly bytes_error: () => number;
  readonly resamples: () => Resamples;
  /** Of what this is a part in time: what a program does of its watches there it does here too. */
  readonly whole?: WatchSet;
  /** What no watch could see in a part of the span; nothing where absent. */
  readonly unseenIn?: UnseenIn;
  /** Traps of every watch of the run, of all classes; none where absent. */
  readonly trapsIn?: TrapsIn;
  /** When watches of any class of the run began; not known where absent. */
  readonly armingsIn?: ArmingsIn;
}

export interface SetPlace {
  readonly span: Span;
  readonly gap: number;
  readonly trap: number;
  readonly unwatched: number;
  readonly young: number;
  readonly lost: number;
  readonly touched_per_s: number;
  readonly seed: number;
  /** Of a moment: as rarityOver has it of the watches of these designs. */
  readonly rarityAt: (begin_ns: number) => number;
  readonly lawAt: LawAt;
  readonly strays: readonly WatchSample[];
  readonly regions: RegionSet;
  /** Bytes of the class in the mean of the span, by the map; absent where only some of what is mapped is drawn. */
  readonly mean_bytes?: number;
  /** As sharesOfTurns has it; not known where absent. */
  readonly turnsOf?: ReturnType<typeof sharesOfTurns>;
  /** What a watch saw in the span, made once for all who ask; made anew where absent. */
  readonly exposureOf?: (watch: WatchSample, i: number) => Exposure | null;
  readonly whole?: WatchSet;
  readonly unseenIn?: UnseenIn;
  readonly trapsIn?: TrapsIn;
  readonly armingsIn?: ArmingsIn;
}

export function watchSet(watches: readonly WatchSample[], place: SetPlace, stream: number): WatchSet {
  const { span, gap, trap, unwatched, young, lost, touched_per_s, seed, lawAt, strays, regions } = place;
  const { exposureOf = (watch: WatchSample) => exposureIn(watch, span, gap) } = place;
  const exposures = watches.flatMap((watch, i) => exposureOf(watch, i) ?? []);
  const found = exposures.map(({ watch }) => watch);
  const elsewhere = strays.filter((watch) => isGivenIn(watch, span));
  const lives = stratumLives([...found, ...elsewhere], regions, span, place.turnsOf);
  const strayed = new Set(elsewhere.map(({ stratum }) => stratum));
  const designed = designWeights(found, place.rarityAt, elsewhere, (stratum) => lives(stratum).share);
  const hasAll = (stratum: string): boolean => !strayed.has(stratum);
  const weights = weightsOverTime(found, designed, span, hasAll, lives);
  const bytes_error = (): number => bytesError(found, weights, span, hasAll, lives);
  const { mean_bytes = 0 } = place;
  const unmet = unmetShare(found, weights.total_bytes, bytes_error, { regions, span, mean_bytes });
  let drawn: Resamples | null = null;
  return {
    span,
    gap_ns: gap,
    trap_ns: trap,
    unwatched,
    young: Math.min(1, young + unmet),
    lost,
    touched_per_s,
    strays,
    regions,
    exposures,
    law: withMany(found.map(({ begin_ns }) => lawAt(begin_ns))),
    lawAt,
    rarityAt: place.rarityAt,
    weights,
    bytes_error,
    ...(place.whole === undefined ? {} : { whole: place.whole }),
    ...(place.unseenIn === undefined ? {} : { unseenIn: place.unseenIn }),
    ...(place.trapsIn === undefined ? {} : { trapsIn: place.trapsIn }),
    ...(place.armingsIn === undefined ? {} : { armingsIn: place.armingsIn }),
    resamples: () => {
      drawn ??= resample(weights.stratum, seed, stream);
      return drawn;
    },
  };
}

/**
 * The watches of a set in a part of its span; all moments of the part count alike, but where watches were given time by several laws. Few watches hear nothing of what
 * all of them do: the part is judged by both. When pages came is not told, so that all of them may have come in it.
 */
export function setWithin(set: WatchSet, span: Span, seed: number, stream: number): WatchSet {
  const watches = set.exposures.map(({ watch }) => watch);
  const rarityAt = set.law.some((law) => law > 0) ? set.rarityAt : () => 1;
  const exposureOf = (watch: WatchSample, i: number) => exposureIn(watch, span, set.gap_ns, set.exposures[i]);
  const { unwatched, young, lost } = set.unseenIn?.(span) ?? { unwatched: 0, young: 0, lost: 0 };
  const unseen = {
    unwatched,
    young: Math.max(set.young, young),
    lost: Math.max(set.lost, lost),
    touched_per_s: (set.touched_per_s * set.span.window_ns) / Math.max(1, span.window_ns),
  };
  const place = { ...set, ...unseen, span, gap: set.gap_ns, trap: set.trap_ns, seed, rarityAt, exposureOf, whole: set };
  return watchSet(watches, place, stream);
}
