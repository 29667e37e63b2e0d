/** Moments soon after memory came: windows begin when it is there, so that fewer of them hold these than hold later ones. */
import { mostMean } from "../../../statistics/poisson-mean.ts";
import type { UnitTimes } from "../../../statistics/survival/recurrent-survival.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { countWindows, givenLength, windowOf } from "./count-window.ts";
import { evenLaws } from "./even-laws.ts";

/** What a moment, or a step, counts for at most: of earlier ones too few windows tell. */
export const MOST_TIMES = 20;
/** Ages that are so many times as far from the birth count alike where it is counted what they hold. */
const SLICE = 1.1;
/** A moment that counts for as much is one of the earliest that windows tell of: before it may lie as many passes again. */
const EARLIEST_TIMES = MOST_TIMES / 2;

/** The windows of a set, each moment by the inverse of the chance that a window holds it (Horvitz and Thompson). */
export interface WeighedWindows {
  /** Of each exposure, ns. */
  readonly time_ns: Float64Array;
  /** Share of the bytes and time in moments of which the earliest windows alone tell. */
  readonly early: number;
  /** What a pass of an exposure counts for that begins at a time in its window. */
  weight(exposure: number, time_ns: number): number;
  /**
   * How much the window of an exposure holds of something.
   * @param between how much of it there is from one moment to another
   */
  amount(exposure: number, between: (from: number, end: number) => number): number;
}

/** Above this share of the bytes and time in so early moments these may have any share of the passes, unless many addresses tell. */
const MOST_EARLY = 0.02;
const MANY_ADDRESSES = 10;

/** True of what a moment counts for that is one of the earliest: as many passes again may lie before these. */
const isEarliest = (weight: number): boolean => weight >= EARLIEST_TIMES;

/** Integral from one age to another of what a moment counts for, where windows are so long. */
function weighedAge(from: number, end: number, length: number): number {
  const least = length / MOST_TIMES;
  const within = (age: number): number => Math.min(length, Math.max(least, age));
  return (
    MOST_TIMES * (Math.min(end, least) - Math.min(from, least)) +
    length * Math.log(within(end) / within(from)) +
    (Math.max(end, length) - Math.max(from, length))
  );
}

/** Share of the bytes and time in which memory is younger than a part of a window: draws tell the lives of its bytes, as long as they are. */
function earlyTime({ exposures, weights, span }: WatchSet, lengthOf: (exposure: number) => number): number {
  const end_ns = span.end_ns[span.end_ns.length - 1] ?? 0;
  let early = 0;
  let all = 0;
  exposures.forEach(({ watch: { region_birth_ns: birth, region_death_ns: death } }, i) => {
    const bytes = weights.bytes[i] ?? 0;
    const lived = Math.min(death ?? end_ns, end_ns) - birth;
    all += bytes;
    if (birth > 0 && lived > 0) early += bytes * Math.min(1, lengthOf(i) / EARLIEST_TIMES / lived);
  });
  return all > 0 ? early / all : 0;
}

/**
 * The windows of a set, weighed.
 * @param length_ns of the window of each exposure
 * @param time_ns of each window inside the span
 */
export function weighedByAge(set: WatchSet, length_ns: ArrayLike<number>, time_ns: Float64Array): WeighedWindows {
  // A window that holds a moment was begun a gap before it or earlier, and not before the memory came.
  const since = (i: number): number => {
    const birth = set.exposures[i]?.watch.region_birth_ns ?? 0;
    return birth > 0 ? birth + set.gap_ns : Number.NEGATIVE_INFINITY;
  };
  // A watch that is given less time than others holds a moment as often as its own time allows.
  const lengthOf = (i: number): number => givenLength(set, i, length_ns);
  /** What the moments of a window count for in the mean, from one age to another. */
  const mean = (from: number, end: number, length: number): number =>
    end > from ? weighedAge(from, end, length) / (end - from) : 1;
  const times = time_ns.map((time, i) => {
    const length = lengthOf(i);
    const [begin, end] = windowOf(set, i, length);
    const born = since(i);
    return begin - born >= length ? time : time * mean(begin - born, end - born, length);
  });
  return {
    time_ns: times,
    get early() {
      return earlyTime(set, lengthOf);
    },
    amount(i, between) {
      const length = lengthOf(i);
      const [begin, end] = windowOf(set, i, length);
      const born = since(i);
      let sum = 0;
      let from = begin;
      while (from < end) {
        const age = from - born;
        const until = age >= length ? end : Math.min(end, born + Math.max(length / MOST_TIMES, SLICE * age));
        sum += between(from, until) * mean(age, until - born, length);
        from = until;
      }
      return sum;
    },
    weight: (i, time) => {
      const length = lengthOf(i);
      const age = time - since(i);
      return age >= length ? 1 : length / Math.max(age, length / MOST_TIMES);
    },
  };
}

/**
 * The most passes among the earliest that windows tell of after memory came, over all: as many times what was seen as
 * there may be addresses that show one, over those that were drawn; as many as all where much of the time is so early and few tell of it.
 */
export function earliestShare(
  { early }: Pick<WeighedWindows, "early">,
  units: readonly Required<UnitTimes>[],
  passes: ArrayLike<number>,
): number {
  let earliest = 0;
  let showing = 0;
  let all = 0;
  const sum = (weights: readonly number[]): number => weights.reduce((total, weight) => total + weight, 0);
  units.forEach(({ weights }, i) => {
    const counts = [...weights.complete, ...weights.censored];
    const first = counts.filter(isEarliest);
    const each = passes[i] ?? 0;
    all += each * sum(counts);
    earliest += each * sum(first);
    if (first.length > 0) showing += 1;
  });
  if (early > MOST_EARLY && showing < MANY_ADDRESSES) return 1;
  return earliest > 0 ? ((earliest / all) * mostMean(showing)) / showing : 0;
}

const found = new WeakMap<WatchSet, WeighedWindows>();

/** The windows in which passes are counted by time, weighed. */
export function windowsByAge(set: WatchSet): WeighedWindows {
  const { length_ns, time_ns } = countWindows(set);
  const windows = found.get(set) ?? weighedByAge(set, length_ns, time_ns);
  found.set(set, windows);
  return windows;
}

const evened = new WeakMap<WatchSet, WeighedWindows>();

/** The same, where watches were given time by several laws each of these by the time in which it held. */
export function evenWindows(set: WatchSet): WeighedWindows {
  const cached = evened.get(set);
  if (cached !== undefined) return cached;
  const windows = windowsByAge(set);
  const even = evenLaws(set, windows.time_ns);
  const all: WeighedWindows = {
    time_ns: windows.time_ns.map((time, i) => time * (even[i] ?? 1)),
    get early() {
      return windows.early;
    },
    weight: (i, time) => (even[i] ?? 1) * windows.weight(i, time),
    amount: (i, between) => (even[i] ?? 1) * windows.amount(i, between),
  };
  evened.set(set, all);
  return all;
}
