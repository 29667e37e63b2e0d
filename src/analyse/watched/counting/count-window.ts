/** The time after its arming in which the passes of a watch are counted: the same for a whole stratum, and for small strata together. */

import { carryingUnits } from "../../../statistics/carrying-units.ts";
import { countBelow } from "../../../statistics/first-index.ts";
import { coveredNs } from "../../input/span.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import type { Exposure } from "../exposure.ts";
import { evenLaws } from "./even-laws.ts";

/**
 * Passes that may go unseen after the k-th trap, as a share of those seen: this much bias is not corrected. The more may, the
 * longer are the windows where chance drew few of the busy words, and the nearer their ends.
 */
export const MOST_UNSEEN = 0.001;
/** Each time that is tried is this much shorter than the one before. */
export const SHORTER = 0.8;
/** Below so many gaps between passes the ends of a window would decide what it counts. */
const LEAST_GAPS = 4;
/** Windows that are alike would hold as much time as all do, at least so many. */
const FEWEST_ALIKE = 16;

/** Above this share of the bytes whose passes are cut a figure is no more than a bound. */
export const MOST_CUT = 0.01;
export const CUT = "some bytes are used so often that a watch ends before it has seen enough";

export interface CountWindows {
  /** Length for each exposure, ns; its window begins one gap after its arming, so that a pass in it is seen to begin. */
  readonly length_ns: Float64Array;
  /** Time of each window inside the span, ns: what it could see. */
  readonly time_ns: Float64Array;
  /** Passes that the windows may have missed after a k-th trap, over all passes: at most MOST_UNSEEN where nothing is cut. */
  readonly unseen: number;
  /** Bytes of the strata in which even the shortest window would lose passes, over all bytes. */
  readonly cut: number;
  /** 1 of an exposure in such a stratum. */
  readonly isCut: Uint8Array;
}

/** What passes are counted over, and how. */
export interface PassCounting {
  /** What each window holds of time, ns, or of the tokens of steps. */
  readonly held: Float64Array;
  /**
   * The same as some passes come with it: where these lie in steps, or between them, who holds more of that holds more of them. The sum over a stratum, by
   * bytes, is that of `held`. Absent where it is `held`.
   */
  readonly heldWith?: (isOf: (exposure: number, pass: number) => boolean) => Float64Array;
  /** Passes of an exposure that may count: their numbers, ascending. */
  readonly passes: (exposure: number) => Uint32Array;
  /** What a pass of an exposure counts for that begins at a time. */
  readonly weight: (exposure: number, time_ns: number) => number;
  /** Passes that the windows may have missed after a last trap, over all passes. */
  readonly unseen: number;
  /** Share of the bytes of which busy words are cut whatever the window. */
  readonly cut: number;
  /** Share of the steps that no window holds. */
  readonly left_out: number;
  /** Share of the run that is counted by the time of windows: what the program does right after an arming is in them. */
  readonly by_time: number;
  /** Where tokens are counted by the time of steps: how much longer the step of a random moment is than the mean of all; 1 elsewhere. */
  readonly uneven: number;
}

const windowsOf = new WeakMap<WatchSet, Map<number, CountWindows>>();

/** Begin and end of the window of an exposure. */
export function windowOf(set: WatchSet, i: number, length: number): readonly [begin: number, end: number] {
  const exposure = set.exposures[i];
  if (exposure === undefined) return [0, 0];
  const begin = exposure.armed_ns + set.gap_ns;
  return [begin, Math.min(begin + length, exposure.window_end_ns)];
}

/** How long the window of an exposure is at most: no longer than the watch was given. */
export function givenLength({ exposures, gap_ns }: WatchSet, i: number, length_ns: ArrayLike<number>): number {
  return Math.min(length_ns[i] ?? 0, (exposures[i]?.watch.dwell_limit_ns ?? 0) - gap_ns);
}

/** Passes that begin inside both the window and the span: their numbers in `exposure.passes`, ascending. */
export function passesIn(set: WatchSet, i: number, length: number): Uint32Array {
  const exposure = set.exposures[i];
  if (exposure === undefined) return new Uint32Array(0);
  return passesBetween(exposure, ...windowOf(set, i, length));
}

/** How many these are. */
export function passCountIn(set: WatchSet, i: number, length: number): number {
  const exposure = set.exposures[i];
  return exposure === undefined ? 0 : passCountBetween(exposure, ...windowOf(set, i, length));
}

/** Passes of an exposure that begin inside the span from one moment up to another: their numbers in `exposure.passes`, ascending. */
export function passesBetween(exposure: Exposure, begin: number, end: number): Uint32Array {
  const { inside, inside_ns } = exposure;
  const [first, last] = [countBelow(inside_ns, begin), countBelow(inside_ns, end)];
  // A copy of a few numbers is small; a view would need a buffer of its own, which is kept as long as they are.
  return first === 0 && last === inside.length ? inside : inside.slice(first, last);
}

/** How many these are: no list of them is made, as it is asked for every exposure at many lengths. */
export function passCountBetween({ inside_ns }: Exposure, begin: number, end: number): number {
  return Math.max(0, countBelow(inside_ns, end) - countBelow(inside_ns, begin));
}

/**
 * Passes that a window did not see after the k-th trap, if the word went on as before it: one at least, as a burst may go on. A word that
 * stopped its watch before that began may have one after the other.
 */
export function unseenPasses(set: WatchSet, exposure: Exposure, end: number): number {
  const { byTrap, armed_ns, begin_ns, end_ns, passes } = exposure;
  if (!byTrap || end_ns >= end) return 0;
  const seen = Math.max(end_ns - begin_ns, set.gap_ns);
  const count = end_ns <= armed_ns ? 1 : passes.count;
  return Math.max(1, (coveredNs(set.span, end_ns, end) * count) / seen);
}

interface WholeWindow {
  readonly length: number;
  /** Weight of the passes that it may have missed, and of those that it saw. */
  readonly unseen: number;
  readonly seen: number;
}

/**
 * The longest window that enough watches hold, or most of it: where few hold far more time than all others, what these few addresses show
 * would stand for all bytes. The longest that any has where watches are few. How long a watch looks does not depend on what it sees.
 */
function longestAlike({ exposures, gap_ns }: WatchSet, members: readonly number[]): number {
  const lengths = members.map((i) => {
    const exposure = exposures[i];
    return exposure === undefined ? 0 : Math.max(0, exposure.window_end_ns - exposure.armed_ns - gap_ns);
  });
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  for (let length = longest; length >= LEAST_GAPS * gap_ns; length *= SHORTER) {
    if (carryingUnits(lengths.map((each) => Math.min(each, length))) >= FEWEST_ALIKE) return length;
  }
  return longest;
}

/** The longest window in which next to no pass is lost; null where there is none. */
function longestWhole(set: WatchSet, members: readonly number[]): WholeWindow | null {
  for (let length = longestAlike(set, members); length >= LEAST_GAPS * set.gap_ns; length *= SHORTER) {
    let unseen = 0;
    let seen = 0;
    for (const i of members) {
      const exposure = set.exposures[i];
      if (exposure === undefined) continue;
      const weight = set.weights.bytes[i] ?? 0;
      seen += weight * passCountIn(set, i, length);
      unseen += weight * unseenPasses(set, exposure, windowOf(set, i, length)[1]);
    }
    if (unseen <= MOST_UNSEEN * (seen + unseen)) return { length, unseen, seen };
  }
  return null;
}

/**
 * Windows for counting. A watch that ends at its k-th trap sees little time of busy words and much of idle ones, so a rate over
 * what was seen would be too high; what it did not see cannot be filled in from what it saw, as bursts are not the whole.
 * So all watches of a stratum count in a window so short that next to none of them reaches its k-th trap inside it.
 * @param leastLimit watches with a lower trap limit are left out: the others see longer
 */
export function countWindows(set: WatchSet, leastLimit = 0): CountWindows {
  const cached = windowsOf.get(set) ?? new Map<number, CountWindows>();
  windowsOf.set(set, cached);
  const windows = cached.get(leastLimit) ?? computeWindows(set, leastLimit);
  cached.set(leastLimit, windows);
  return windows;
}

/** The trap limits of a set, ascending. */
export function trapLimits({ exposures }: WatchSet): number[] {
  return [...new Set(exposures.map(({ watch }) => watch.trap_limit))].sort((a, b) => a - b);
}

interface Choice {
  readonly members: readonly number[];
  readonly whole: WholeWindow | null;
}

/**
 * The windows of one cell: of all its watches, or, where one pass has as many accesses as a low limit allows, so that these have no window, or none
 * that holds a pass, of those with a high limit. Never of the few because they see longer: they may do so as none of them fell on a busy word.
 */
function bestChoice(set: WatchSet, cell: readonly number[]): Choice {
  const limits = [...new Set(cell.map((i) => set.exposures[i]?.watch.trap_limit ?? 0))].sort((a, b) => a - b);
  let empty: Choice | null = null;
  for (const limit of limits) {
    const members = cell.filter((i) => (set.exposures[i]?.watch.trap_limit ?? 0) >= limit);
    const whole = longestWhole(set, members);
    if (whole === null) continue;
    if (whole.seen > 0 || members.every((i) => set.exposures[i]?.passes.count === 0)) return { members, whole };
    empty ??= { members, whole };
  }
  return empty ?? { members: cell, whole: null };
}

/** Watches that have one window, and which of them count in it. */
interface Cell {
  readonly cell: readonly number[];
  readonly members: readonly number[];
  readonly whole: WholeWindow | null;
}

/**
 * Watches of each stratum that have one window; those that trap at writes alone see longer than their neighbours. A window that two or three watches
 * choose ends right before the trap that was to come, and holds too few passes for its time: those of strata with few choose one together, as far as
 * each of these strata then has a watch that counts.
 */
function cellsOf(set: WatchSet, deep: readonly number[]): Cell[] {
  const watchOf = (i: number) => set.exposures[i]?.watch;
  const isByWrites = (i: number): boolean => watchOf(i)?.mode === "w";
  const strataOf = (some: readonly number[]): number => new Set(some.map((i) => watchOf(i)?.stratum)).size;
  const alone = [...Map.groupBy(deep, (i) => `${watchOf(i)?.stratum}\n${isByWrites(i)}`).values()];
  const [small, large] = [alone.filter(isFew), alone.filter((cell) => !isFew(cell))];
  const chosen = (cell: readonly number[]): Cell => ({ cell, ...bestChoice(set, cell) });
  const together = [...Map.groupBy(small, ([first = 0]) => isByWrites(first)).values()].flatMap((cells): Cell[] => {
    const one = chosen(cells.flat());
    return one.whole !== null && strataOf(one.members) === cells.length ? [one] : cells.map(chosen);
  });
  return [...large.map(chosen), ...together];
}

const isFew = (cell: readonly number[]): boolean => cell.length < FEWEST_ALIKE;

function computeWindows(set: WatchSet, leastLimit: number): CountWindows {
  const length_ns = new Float64Array(set.exposures.length);
  const time_ns = new Float64Array(set.exposures.length);
  const isCut = new Uint8Array(set.exposures.length);
  const deep = [...set.exposures.keys()].filter((i) => (set.exposures[i]?.watch.trap_limit ?? 0) >= leastLimit);
  const cells = cellsOf(set, deep);
  let cutBytes = 0;
  let missed = 0;
  let counted = 0;
  for (const { cell, members, whole } of cells) {
    const length = whole?.length ?? LEAST_GAPS * set.gap_ns;
    missed += whole?.unseen ?? 0;
    counted += whole?.seen ?? 0;
    for (const i of members) {
      length_ns[i] = length;
      time_ns[i] = coveredNs(set.span, ...windowOf(set, i, length));
    }
    if (whole !== null) continue;
    for (const i of cell) {
      cutBytes += set.weights.bytes[i] ?? 0;
      isCut[i] = 1;
    }
  }
  const cut = set.weights.total_bytes > 0 ? cutBytes / set.weights.total_bytes : 0;
  return { length_ns, time_ns, unseen: missed > 0 ? missed / (missed + counted) : 0, cut, isCut };
}

/**
 * What one pass of each watch stands for, in passes of the run: the bytes of the stratum over the time of all its windows. So
 * passes of strata that were watched for unlike times can be put together.
 */
export const passWeights = (set: WatchSet, time_ns = countWindows(set).time_ns): Float64Array =>
  weightsBy(set, time_ns, evenLaws(set, time_ns));

/** The same of passes that already count as `PassCounting` weighs them, by what it says that windows hold: that has each law by its time. */
export const countedWeights = (set: WatchSet, { held }: Pick<PassCounting, "held">): Float64Array =>
  weightsBy(set, held, new Float64Array(held.length).fill(1));

function weightsBy({ weights: { bytes, stratum } }: WatchSet, held: Float64Array, even: Float64Array): Float64Array {
  const total = new Map<number, [bytes: number, held: number]>();
  stratum.forEach((s, i) => {
    const [b, h] = total.get(s) ?? [0, 0];
    const w = bytes[i] ?? 0;
    total.set(s, [b + w, h + w * (even[i] ?? 1) * (held[i] ?? 0)]);
  });
  return bytes.map((w, i) => {
    const [b, h] = total.get(stratum[i] ?? 0) ?? [0, 0];
    return h > 0 ? (b * w * (even[i] ?? 1)) / h : 0;
  });
}
