/** Points of how long KV rows were needed, or how old they were, by the engine's steps; the band is over sequences. */
import { percentileInterval, resample } from "../../statistics/bootstrap.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import { interval } from "../../statistics/interval.ts";
import type { RecurrentSample } from "../../statistics/survival/product-limit.ts";
import { effectiveUnits, endedShares, recurrentSample } from "../../statistics/survival/recurrent-survival.ts";
import { sharesOf } from "../../statistics/survival/survival-shares.ts";
import type { Group } from "../input/group.ts";
import { kvUnits } from "../steps/kv-need.ts";
import { FEWEST_SEQUENCES, type KvNeedTimes, levelFor, upperEndNeeds } from "../steps/kv-need-figures.ts";
import { leastShare, mostShare, type RowRoom, rowRoom } from "../steps/shared-rows.ts";
import type { CurvePoint } from "./curve.ts";
import { curvePoints, drawnPlaces, observationsOf } from "./share-points.ts";

/** Enough for a band; the figures have more. */
const REPLICATES = 199;

/** The same times, those that are open as if they ended where they were seen last. */
const asSeen = (sample: RecurrentSample): RecurrentSample => ({
  ...sample,
  event: new Uint8Array(sample.event.length).fill(1),
});

/** The curve with which the quantiles of `kvNeedFigures` agree. */
export function kvNeedPoints(group: Group, need: KvNeedTimes, falling: boolean): CurvePoint[] {
  const room = rowRoom(group, need.earlyShare);
  return sequencePoints(need.ofRows(kvUnits(group.kvRows)), group.input.seed, need.stream, falling, room);
}

/**
 * Of few sequences it is the curve of what was seen, less that room, which is no more than a bound and has no band.
 * @param stream of the random numbers
 * @param room for what is early or counted too often, which may be above all of these, or below
 */
export function sequencePoints(
  { times, weights, open }: ReturnType<KvNeedTimes["ofRows"]>,
  seed: number,
  stream: number,
  falling: boolean,
  room: RowRoom,
): CurvePoint[] {
  const n = times.length;
  const sample = recurrentSample(times, weights);
  const isBound = n < FEWEST_SEQUENCES;
  const curve = sharesOf(isBound ? asSeen(sample) : sample);
  const { values, shares, until } = curve;
  const places = drawnPlaces(values, shares);
  const bare = [...places].map((position) => ({ value: values[position] ?? 0, share: shares[position] ?? 0 }));
  if (isBound) {
    const points = bare.map(({ value, share }) => ({ value, share: interval(mostShare(share, room), null, null) }));
    return curvePoints(points, observationsOf(sample), falling);
  }
  const resamples = resample(new Uint8Array(n), seed, stream, REPLICATES);
  const seen = open > 0 ? sharesOf(asSeen(sample)) : null;
  // An open time may end at once: the share may be as large as that of the times as they were seen.
  const seenValues = seen?.values ?? values;
  const seenPlaces = places.map((position) => {
    const value = values[position] ?? 0;
    return Math.max(0, firstIndex(seenValues.length, (i) => (seenValues[i] ?? 0) <= value) - 1);
  });
  const out = new Float64Array(places.length);
  const replicates = bare.map(() => new Float64Array(resamples.length));
  const largest = bare.map(() => new Float64Array(resamples.length));
  resamples.forEach((drawn, r) => {
    curve.resampled(drawn, places, out);
    replicates.forEach((column, k) => {
      column[r] = out[k] ?? Number.NaN;
    });
    if (seen !== null) seen.resampled(drawn, seenPlaces, out);
    largest.forEach((column, k) => {
      column[r] = out[k] ?? Number.NaN;
    });
  });
  const effective = effectiveUnits(sample);
  const level = levelFor(effective);
  // In this run itself, if what is open ends last of all.
  const ended = endedShares(
    sample,
    bare.map(({ value }) => value),
  );
  const points = bare.map(({ value, share }, k) => {
    const { lo } = percentileInterval(share, replicates[k] ?? out, level);
    const { hi } = percentileInterval(share, largest[k] ?? out, level);
    const least =
      lo === null || upperEndNeeds(share, n, effective).isFar
        ? null
        : leastShare(Math.min(lo, ended[k] ?? lo) - (room.above?.(value) ?? 0), room);
    return { value, share: interval(share, least, hi === null ? null : mostShare(hi, room)) };
  });
  return curvePoints(points, observationsOf(sample), falling, until);
}
