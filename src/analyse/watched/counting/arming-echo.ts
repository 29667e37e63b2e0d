/** Whether a program does more or less right after a watch is armed than later: then it is seen as the watching makes it. */
import { carryingUnits } from "../../../statistics/carrying-units.ts";
import { firstIndex } from "../../../statistics/first-index.ts";
import type { Interval } from "../../../statistics/interval.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { countWindows, passCountIn, passesBetween, windowOf } from "./count-window.ts";

/** Up to so many standard errors it may be chance, and from so many on it is none; between them as much as lies between counts of it. */
const CHANCE_ERRORS = 2;
const SURE_ERRORS = 4;
/** Into so many parts the windows are cut, of which the first is held against the others. */
const PARTS = [2, 4, 8, 16, 32, 64, 128];
/** First passes are counted in times that are so often halves of a window, or so often twice it; as many may deviate by chance, so that it takes more standard errors. */
const HALVES = 7;
const DOUBLINGS = 10;
const CHANCE_OF_FIRST = 3.5;
const SURE_OF_FIRST = 5;
/** Watches that are armed as near to each other as this share of their windows see the same steps, and count as one. */
const NEAR = 1 / 16;
/** Fewer watches that count alike say nothing of it. */
const FEWEST_CARRYING = 8;
/** With a larger echo a figure is no more than a bound. */
const MOST_ECHO = 0.2;

export const isLoud = (echo: number): boolean => Math.abs(echo) > MOST_ECHO;

/** Why a figure with a loud echo is none. */
export function echoReason(echo: number): string {
  const share = `${Math.round(100 * Math.abs(echo))} % of those in the time that is looked at`;
  return echo > 0
    ? `right after a watch is armed fewer passes begin than later, by ${share}: watching holds the program up`
    : `right after a watch is armed more passes begin than later, by ${share}: watching moves what the program does`;
}

export interface Echo {
  /** Passes that windows lack right after an arming, at the rate of their rest, over all that they have; below 0 those that they have too many. */
  readonly share: number;
  /** How long a program stands still after an arming that lacks as many, ns; below 0 for how long it does more than its share at once. */
  readonly still_ns: number;
}

const NONE: Echo = { share: 0, still_ns: 0 };
const echoes = new WeakMap<WatchSet, Echo>();

const louder = (one: Echo, other: Echo): Echo => ({
  share: Math.abs(other.share) > Math.abs(one.share) ? other.share : one.share,
  still_ns: Math.abs(other.still_ns) > Math.abs(one.still_ns) ? other.still_ns : one.still_ns,
});

const ofItsWhole = ({ whole }: WatchSet): Echo => (whole === undefined ? NONE : armingEcho(whole));

/**
 * What the watches show of their own arming: `echoInWindows`, or `echoOfFirst` where that is more. What all watches show of a program holds for a
 * part of them too, which may be too few to hear it.
 */
export function armingEcho(set: WatchSet): Echo {
  const found = echoes.get(set) ?? louder(ofItsWhole(set), louder(echoInWindows(set), echoOfFirst(set)));
  echoes.set(set, found);
  return found;
}

/** A time from an arming on. */
interface Looked {
  readonly begin_ns: number;
  readonly length_ns: number;
}

/** In order of time, those together that were armed at about the same moment. */
function together<T extends Looked>(looked: readonly T[]): T[][] {
  const groups: T[][] = [];
  for (const one of looked.toSorted((a, b) => a.begin_ns - b.begin_ns)) {
    const first = groups.at(-1)?.[0];
    if (first !== undefined && one.begin_ns - first.begin_ns <= NEAR * one.length_ns) groups.at(-1)?.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** A watch whose window is not cut, and is neither the first of its memory nor the last. */
interface Whole extends Looked {
  readonly bytes: number;
  /** Begins of the passes in it. */
  readonly starts_ns: Float64Array;
}

/**
 * Watches in order of time, those together that were armed at about the same moment. What is done to memory when it comes, or before it goes, is in the first parts of windows
 * alone, or in the last: those within a window of its birth or its free do not count. Nor do windows in which busy words make their last trap: they have fewer passes later anyway.
 */
function armedTogether(set: WatchSet): Whole[][] {
  const { length_ns, isCut } = countWindows(set);
  const wholes = set.exposures.flatMap((exposure, i): Whole[] => {
    const length = length_ns[i] ?? 0;
    const [begin_ns] = windowOf(set, i, length);
    const { region_birth_ns: birth, region_death_ns: death } = exposure.watch;
    // A sum of times of many digits is rounded: the difference of the ends of a whole window may be less than its length.
    const isWhole =
      length > 0 && isCut[i] === 0 && begin_ns >= exposure.begin_ns && begin_ns + length <= exposure.window_end_ns;
    const isAmid = (birth <= 0 || birth + length <= begin_ns) && (death === null || begin_ns + 2 * length <= death);
    if (!isWhole || !isAmid) return [];
    const starts_ns = Float64Array.from(
      passesBetween(exposure, begin_ns, begin_ns + length),
      (p) => exposure.passes.start_ns[p] ?? 0,
    );
    return [{ bytes: set.weights.bytes[i] ?? 0, begin_ns, length_ns: length, starts_ns }];
  });
  return together(wholes);
}

/**
 * What the windows show of their own arming; nothing where that may be chance, or nobody can tell. A watch begins at a random moment, so that each part of a window has as many of a program that does not know of it: one
 * that stands still while its CPU arms the watch has fewer in the first part, and one that waited for the arming more. What each watch lacks in its first part is
 * summed, and the sum held against the error that it has where any part is as good as the first: one in which nobody saw a pass shows no spread of its own.
 */
function echoInWindows(set: WatchSet): Echo {
  const groups = armedTogether(set);
  let share = 0;
  let length = 0;
  for (const parts of PARTS) {
    let all = 0;
    let long = 0;
    let variance = 0;
    const passes = new Float64Array(parts);
    const lacking = Float64Array.from(groups, (group) => {
      passes.fill(0);
      for (const { bytes, begin_ns, length_ns, starts_ns } of group) {
        for (const start of starts_ns) {
          const part = Math.floor((parts * (start - begin_ns)) / length_ns);
          passes[Math.min(part, parts - 1)] = (passes[Math.min(part, parts - 1)] ?? 0) + bytes;
        }
        long += bytes * starts_ns.length * length_ns;
      }
      const sum = passes.reduce((total, x) => total + x, 0);
      const lackingOf = (x: number): number => (sum - x) / (parts - 1) - x;
      all += sum;
      variance += passes.reduce((total, x) => total + lackingOf(x) ** 2, 0) / parts;
      return lackingOf(passes[0] ?? 0);
    });
    const sum = lacking.reduce((total, x) => total + x, 0);
    const heard = Math.min(1, (Math.abs(sum) / Math.sqrt(variance) - CHANCE_ERRORS) / (SURE_ERRORS - CHANCE_ERRORS));
    if (!(heard > 0) || carryingUnits(lacking.map(Math.abs)) < FEWEST_CARRYING) continue;
    if (Math.abs((heard * sum) / all) <= Math.abs(share)) continue;
    share = (heard * sum) / all;
    length = long / all;
  }
  return { share, still_ns: share * length };
}

/** Passes in a window, in the mean over bytes. */
function passesPerWindow(set: WatchSet): number {
  const { length_ns } = countWindows(set);
  let [passes, bytes] = [0, 0];
  for (const i of set.exposures.keys()) {
    const length = length_ns[i] ?? 0;
    if (length === 0) continue;
    bytes += set.weights.bytes[i] ?? 0;
    passes += (set.weights.bytes[i] ?? 0) * passCountIn(set, i, length);
  }
  return passes / bytes;
}

/**
 * What the first passes after the armings show. From a random moment on the next pass comes as often in a time as in as long a time behind it, or oftener, whatever a program does: of each stretch without a
 * pass the last part is the nearest to the next one. Where it comes more seldom the program stood still. What traps end is no matter, as none comes before the first
 * pass; so this tells of windows that lie within the time for which a program stands still, all parts of which lack as much.
 */
function echoOfFirst(set: WatchSet): Echo {
  const { length_ns } = countWindows(set);
  // Watches that end too soon to be counted show a first pass too.
  const longest = new Map<number, number>();
  for (const [i, s] of set.weights.stratum.entries()) longest.set(s, Math.max(longest.get(s) ?? 0, length_ns[i] ?? 0));
  const perWindow = passesPerWindow(set);
  let echo = NONE;
  for (let times = 2 ** -HALVES; times <= 2 ** DOUBLINGS; times *= 2) {
    const looked = set.exposures.flatMap((exposure, i) => {
      const length = times * (longest.get(set.weights.stratum[i] ?? 0) ?? 0);
      const begin_ns = exposure.armed_ns + set.gap_ns;
      const isSoLong = length > 0 && 2 * length <= exposure.watch.dwell_limit_ns - set.gap_ns;
      if (!isSoLong || begin_ns < exposure.begin_ns) return [];
      const { inside_ns } = exposure;
      const first = inside_ns[firstIndex(inside_ns.length, (p) => (inside_ns[p] ?? 0) < begin_ns)];
      const after = ((first ?? Number.POSITIVE_INFINITY) - begin_ns) / length;
      return [{ begin_ns, length_ns: length, after, bytes: set.weights.bytes[i] ?? 0 }];
    });
    let [early, late, variance] = [0, 0, 0];
    const lacking = together(looked).map((group) => {
      const those = (from: number): number =>
        group.reduce((sum, { after, bytes }) => sum + (after >= from && after < from + 1 ? bytes : 0), 0);
      const [soon, then] = [those(0), those(1)];
      early += soon;
      late += then;
      variance += (then - soon) ** 2;
      return Math.abs(then - soon);
    });
    const errors = (late - early) / Math.sqrt(variance);
    const heard = Math.min(1, (errors - CHANCE_OF_FIRST) / (SURE_OF_FIRST - CHANCE_OF_FIRST));
    if (!(heard > 0) || carryingUnits(lacking) < FEWEST_CARRYING) continue;
    const bytes = looked.reduce((sum, one) => sum + one.bytes, 0);
    const mean_ns = looked.reduce((sum, one) => sum + one.bytes * one.length_ns, 0) / bytes;
    // Of a window that is no longer all passes are as many too few.
    const inWindow = times < 1 ? perWindow * bytes : early;
    const lacks = Math.min(1, (late - early) / inWindow);
    echo = louder(echo, { share: heard * lacks, still_ns: heard * (1 - early / late) * mean_ns });
  }
  return echo;
}

/**
 * An interval with room for an echo: for twice what the windows lack, as the first part of them was not the only one that lacks it, and, as the program
 * also stood still before the watch began, for as much less; where the windows have too many, the other way round.
 */
export function withEcho<T extends Interval>(estimate: T, echo: number): T {
  const { lo, hi } = estimate;
  const [below, above] = echo > 0 ? [echo, 2 * echo] : [-2 * echo, -echo];
  return {
    ...estimate,
    lo: lo === null ? null : lo * Math.max(0, 1 - below),
    hi: hi === null ? null : hi * (1 + above),
  };
}

/** How many times as long as they were seen times between passes are at least, and at most; null where nobody can tell. */
export interface TimesRoom {
  readonly least: number | null;
  readonly most: number | null;
}

/** Room for an echo. A program that stands still makes times between passes longer, and never shorter: with a loud echo they are no shorter than that. */
export function timesRoom(echo: number): TimesRoom {
  if (isLoud(echo)) return { least: echo > 0 ? 1 : null, most: null };
  return echo > 0 ? { least: 1, most: 1 + 2 * echo } : { least: 1 + 2 * echo, most: 1 - echo };
}

/** A quantile of times between passes with that room; no value where there is no longest. */
export function timesWithEcho<T extends Interval>(estimate: T, echo: number): T {
  const { least, most } = timesRoom(echo);
  return {
    ...estimate,
    value: most === null ? null : estimate.value,
    lo: estimate.lo === null || least === null ? null : estimate.lo * least,
    hi: estimate.hi === null || most === null ? null : estimate.hi * most,
  };
}

/**
 * The same of times from a moment that an arming picked: a program that stands still there makes them longer by as much, and one that does at once what it
 * would have done later makes them shorter. Where that is more than a fifth of the time there is a bound only.
 */
export function sinceArmingWithEcho<T extends Interval>(estimate: T, { still_ns }: Echo): T {
  const { value, lo, hi } = estimate;
  if (value === null) return estimate;
  const isTooMuch = Math.abs(still_ns) > MOST_ECHO * value;
  const ends =
    still_ns > 0
      ? { lo: lo === null ? null : Math.max(0, lo - 2 * still_ns), hi }
      : { lo, hi: hi === null || isTooMuch ? null : hi - 2 * still_ns };
  return { ...estimate, value: isTooMuch ? null : value, ...ends };
}
