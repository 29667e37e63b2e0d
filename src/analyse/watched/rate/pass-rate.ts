/** How often a byte is read or written: passes per second, per byte of the class. */
import { carryingUnits } from "../../../statistics/carrying-units.ts";
import { clopperPearson, effectiveSize } from "../../../statistics/clopper-pearson.ts";
import { CI_LEVEL, type Interval, interval } from "../../../statistics/interval.ts";
import { mostMean } from "../../../statistics/poisson-mean.ts";
import { intervalOf, type Replicated, replicateRatio } from "../../../statistics/stratified-ratio.ts";
import { stringerBound } from "../../../statistics/stringer-bound.ts";
import { stepBy } from "../../input/span.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { armingEcho, isLoud, withEcho } from "../counting/arming-echo.ts";
import { countedWeights, countWindows, givenLength, MOST_CUT, trapLimits } from "../counting/count-window.ts";
import { countPasses, type PassAxis } from "../counting/pass-counting.ts";
import type { Exposure } from "../exposure.ts";
import { partedPasses, withParted } from "../parted-passes.ts";
import { underlookedShare } from "../young-memory.ts";
import { busierBytes, mostInSteps, UNIT } from "./busier-bytes.ts";
import { heldUp } from "./held-up.ts";
import { leastRate } from "./least-rate.ts";
import { undrawnPasses } from "./undrawn-passes.ts";

export type PassKind = "read" | "write";

/** Fewer addresses with a pass than this: their share carries the interval, not the resampling. */
const FEW_HITS = 10;

/** Passes of unknown kind above this share leave a figure open. */
export const MOST_UNKNOWN = 0.01;
/** Where fewer addresses than this carry a sum, its interval is too short: the next one may carry as much. */
export const FEWEST_CARRYING = 8;

/**
 * True where few addresses carry a sum.
 * @param carrying how many that count alike would carry as much
 */
export const isCarriedByFew = (carrying: number, fewest = FEWEST_CARRYING): boolean => carrying < fewest;

/**
 * True where few addresses carry a sum as few windows hold most of the time: they speak for no more addresses than they are, and one
 * that is used more often may easily be none of these. Few that carry it as they are used so often have wide intervals instead.
 */
export const isHeldByFew = ({ n_effective, n_windows }: PassRate): boolean =>
  isCarriedByFew(n_effective) && isCarriedByFew(n_windows);

export const fewHold = (n: number): string =>
  `as much as ${Math.round(n)} long watches hold most of the time that was looked at`;

export const fewCarry = (n: number): string =>
  n > 0
    ? `${Math.round(n)} of the addresses carry most of it`
    : "no watched address shows one in the time in which passes are counted";

export const seenOutside = (seen: number, n: number): string =>
  `${seen} of ${n} watched addresses show one, outside the time in which passes are counted`;

export interface PassRate {
  readonly axis: PassAxis;
  /** Mean over bytes of passes per second or token; the interval is that of addresses. */
  readonly rate: Interval;
  /**
   * The most windows with such a pass, per second or token and byte: no more bytes than that can have one, however many passes follow in the
   * same window. Null where that is not known.
   */
  readonly touched_hi: number | null;
  /** The same on every resample, for ratios of two rates. */
  readonly replicated: Replicated;
  readonly n: number;
  /** Addresses with such a pass anywhere in the exposure, and in the window in which passes are counted. */
  readonly n_seen: number;
  readonly n_counted: number;
  /** The least that the rate can be, by the watches that saw such a pass soon; told where few were counted, watches are cut, or an echo is loud. */
  readonly least: number;
  /** How many addresses that count alike would carry as much: few where some carry most of the sum. */
  readonly n_effective: number;
  /** How many windows that are alike would hold as much of the axis: few where some are far longer than the others. */
  readonly n_windows: number;
  /** Share of the passes in which neither read nor write is known. */
  readonly unknown: number;
  /** Passes that may have been missed over all of them: the interval of the rate holds them. */
  readonly unseen: number;
  /** Passes of strata of which none was counted, over all that were, at most: the interval of the rate holds them. */
  readonly undrawn: number;
  /** Passes of bytes that are busier than any that was drawn, over all that were counted, at most: the interval of the rate holds them. */
  readonly busier: number;
  /** Share of the bytes of which busy words are cut whatever the window: their rate is a lower bound. */
  readonly cut: number;
  /** How uneven the steps are by whose time tokens are counted; 1 where whole steps are, and by time. */
  readonly uneven: number;
  /** How much more or less is seen later in the windows than right after an arming, over all of it: `armingEcho`; the interval allows for it. */
  readonly echo: number;
  /** Share of the passes that traps may have parted from the one before; the interval allows for it. */
  readonly parted: number;
}

/** Three metrics ask for the same rates. */
const rates = new WeakMap<WatchSet, Map<string, PassRate>>();

const sum = (numbers: readonly number[]): number => numbers.reduce((all, x) => all + x, 0);

function isOf({ passes }: Exposure, pass: number, kind: PassKind, generous: boolean): boolean {
  const passesOfKind = kind === "read" ? passes.reads : passes.writes;
  return (passesOfKind[pass] ?? 0) > 0 || (generous && (passes.unknown[pass] ?? 0) > 0);
}

/** Bytes of each stratum of a set, by the numbers that resampling uses. */
function stratumBytes({ weights }: WatchSet): Float64Array {
  const out = new Float64Array(weights.stratum.reduce((most, s) => Math.max(most, s + 1), 0));
  weights.stratum.forEach((s, i) => {
    out[s] = (out[s] ?? 0) + (weights.bytes[i] ?? 0);
  });
  return out;
}

/**
 * The interval with room for bytes that were not drawn: that share of them may have no such pass, or twice as many, which no
 * resampling of addresses that were all alike can tell (Clopper-Pearson, none of the effective number of addresses).
 */
function withUndrawn(rate: Interval, size: number): Interval {
  if (rate.value === null) return rate;
  const room = (clopperPearson(0, size, CI_LEVEL).hi ?? 1) * rate.value;
  return {
    ...rate,
    lo: Math.min(rate.lo ?? rate.value, rate.value - room),
    hi: Math.max(rate.hi ?? rate.value, rate.value + room),
  };
}

/**
 * Passes per second and byte: over each stratum the passes in the windows of its watches over the time of the windows, strata by
 * their bytes; BCa interval over the addresses. With fewer than ten addresses that show such a pass, their share decides
 * instead: Clopper-Pearson times their mean rate below, Stringer's bound above, where a byte that none was drawn of may have as many
 * passes in every step as any watch can count, or go on as fast as one that saw as many in one step, or, without steps, in a usual window as the longest can. Usual: few long windows, which are
 * so long as no byte was drawn that shows one, do not make the end near. Per token: over the tokens of the
 * steps in the windows, whose number is known.
 * @param generous passes of unknown kind count too
 */
export function passRate(set: WatchSet, kind: PassKind, generous = false, axis: PassAxis = "seconds"): PassRate {
  let cached = rates.get(set);
  if (!cached) {
    cached = new Map();
    rates.set(set, cached);
  }
  const key = `${kind}/${generous}/${axis}`;
  const found = cached.get(key) ?? computePassRate(set, kind, generous, axis);
  cached.set(key, found);
  return found;
}

/** Where fewer of the addresses that show a pass than this share of them would carry a sum, they are unlike. */
const FEW_OF_COUNTED = 0.35;

/** How many more there may be of what was seen once. */
const MORE_THAN_ONE = mostMean(1) - 1;

/**
 * What the sum may lack of addresses like the largest: it was drawn once, where the mean count may have been 5.57. Only what
 * it has beyond the others counts: where all are alike this is next to nothing.
 */
function unseenLargest(parts: Float64Array): number {
  let largest = 0;
  let sum = 0;
  let seen = 0;
  for (const x of parts) {
    if (x <= 0) continue;
    largest = Math.max(largest, x);
    sum += x;
    seen += 1;
  }
  return seen > 0 ? MORE_THAN_ONE * (largest - sum / seen) : 0;
}

/**
 * The most passes per ns, from first to last, of a watch whose last trap hid what came next: a word that none was drawn of may go on like that all the time. Windows
 * are long where few such watches were drawn, and no watch can count there what a burst has.
 */
function densestCut({ exposures }: WatchSet, kind: PassKind, generous: boolean): number {
  let densest = 0;
  for (const exposure of exposures) {
    if (!exposure.byTrap) continue;
    const begins = exposure.passes.start_ns.filter((_, p) => isOf(exposure, p, kind, generous));
    const length = (begins.at(-1) ?? 0) - (begins[0] ?? 0);
    if (length > 0) densest = Math.max(densest, (begins.length - 1) / length);
  }
  return densest;
}

/**
 * The most such passes per ns of a watch that saw as many in one step as the lowest trap limit, from the first of them to the last; 0 where none did. Windows end
 * before the bursts that were drawn, so that few or none of these is counted, and a byte of which none was drawn may have more in each step.
 */
function densestInStep(set: WatchSet, kind: PassKind, generous: boolean): number {
  const { steps } = set.span;
  const limit = trapLimits(set)[0] ?? 1;
  let densest = 0;
  for (const exposure of set.exposures) {
    const begins = exposure.inside_ns.filter((_, k) => isOf(exposure, exposure.inside[k] ?? 0, kind, generous));
    for (let last = limit - 1; last < begins.length; last++) {
      const [from, end] = [begins[last - limit + 1] ?? 0, begins[last] ?? 0];
      const isInOne = stepBy(steps, from) === stepBy(steps, end);
      if (isInOne && end > from) densest = Math.max(densest, (limit - 1) / (end - from));
    }
  }
  return densest;
}

/** Share of the time that lies between steps; 0 without steps. */
function betweenShare({ span: { parts, window_ns } }: WatchSet): number {
  const inSteps = parts.reduce((sum, part) => sum + part.window_ns, 0);
  return parts.length === 0 ? 0 : Math.max(0, 1 - inSteps / window_ns);
}

function computePassRate(set: WatchSet, kind: PassKind, generous: boolean, axis: PassAxis): PassRate {
  const { exposures, weights, span } = set;
  const {
    held,
    heldWith,
    passes: passesInWindow,
    weight: passWeight,
    unseen,
    cut,
    left_out,
    by_time,
    uneven,
  } = countPasses(set, axis);
  const echo = by_time > 0 ? by_time * armingEcho(set).share : 0;
  const unit = UNIT[axis];
  const holds = heldWith?.((i, p) => isOf(exposures[i] as Exposure, p, kind, generous)) ?? held;
  const top = new Float64Array(exposures.length);
  const bottom = new Float64Array(exposures.length);
  const windows = {
    time_ns: held,
    weights: countedWeights(set, { held }),
    counted: new Float64Array(exposures.length),
  };
  const anywhere = new Uint32Array(exposures.length);
  let seen = 0;
  let passes = 0;
  let unknown = 0;
  let counted = 0;
  const countedRates: number[] = [];
  let allHeld = 0;
  exposures.forEach((exposure, i) => {
    const w = weights.bytes[i] ?? 0;
    let mine = 0;
    for (let p = 0; p < exposure.passes.count; p++) {
      if ((exposure.passes.unknown[p] ?? 0) > 0) unknown += 1;
      if (isOf(exposure, p, kind, generous)) mine += 1;
    }
    passes += exposure.passes.count;
    if (mine > 0) seen += 1;
    let inside = 0;
    for (const p of passesInWindow(i)) {
      if (isOf(exposure, p, kind, generous)) inside += passWeight(i, exposure.passes.start_ns[p] ?? 0);
    }
    const mineHeld = held[i] ?? 0;
    allHeld += mineHeld;
    if (inside > 0) {
      counted += 1;
      // Between two steps there are passes, and no token.
      if (mineHeld > 0) countedRates.push((unit * inside) / mineHeld);
    }
    windows.counted[i] = inside;
    anywhere[i] = mine;
    top[i] = w * inside;
    bottom[i] = (w * (holds[i] ?? 0)) / unit;
  });
  const total = weights.total_bytes;
  const scale = stratumBytes(set).map((bytes) => (total > 0 ? bytes / total : 0));
  const replicated = replicateRatio({ top, bottom, stratum: weights.stratum, scale }, set.resamples());
  const stratumHeld = new Float64Array(scale.length);
  weights.stratum.forEach((s, i) => {
    stratumHeld[s] = (stratumHeld[s] ?? 0) + (bottom[i] ?? 0);
  });
  // What each address adds to the rate: strata are looked at for unlike times.
  const parts = top.map((passes, i) => {
    const s = weights.stratum[i] ?? 0;
    return (stratumHeld[s] ?? 0) > 0 ? (passes * (scale[s] ?? 0)) / (stratumHeld[s] ?? 1) : 0;
  });
  const carrying = carryingUnits(parts);
  let rate = counted > 0 ? intervalOf(replicated, carrying) : interval(null, 0, null);
  // By time the ends of windows make rates vary, whatever the addresses; by tokens, or in whole steps, they may be all alike.
  const size = effectiveSize(weights.bytes.filter((_, i) => (held[i] ?? 0) > 0));
  if (axis === "tokens" || by_time < 1) rate = withUndrawn(rate, size);
  const largest = unseenLargest(parts);
  // Where addresses are unlike resampling knows no more of larger ones than was drawn: both add up.
  const spread = carrying < FEW_OF_COUNTED * counted ? (rate.hi ?? 0) - replicated.value : 0;
  rate = { ...rate, hi: rate.hi === null ? null : Math.max(rate.hi, replicated.value + spread + largest) };
  const isOpen = counted < FEW_HITS || cut > MOST_CUT || isLoud(echo);
  const least = isOpen ? leastRate(set, (i, p) => isOf(exposures[i] as Exposure, p, kind, generous)) : 0;
  const busier =
    counted < FEW_HITS ? { room: 0, undrawn: 0 } : busierBytes(set, axis, { held, counted: windows.counted, scale });
  rate = { ...rate, hi: rate.hi === null ? null : Math.max(rate.hi, replicated.value + busier.room) };
  // How many tokens an exposure saw is not known, but how many its window held.
  const undrawn = undrawnPasses(set, { ...windows, seen: anywhere, isByTokens: axis === "tokens" });
  rate = { ...rate, hi: rate.hi === null ? null : rate.hi + undrawn * replicated.value };
  // The few passes that the windows may have missed are in the interval. A stretch unwatched, time after births that few windows hold, and
  // steps that no window holds, may have had none or twice as many, and of what is too young to be drawn none is in the sum.
  const more = by_time > 0 ? by_time * heldUp(set, top) : 0;
  rate = { ...rate, hi: rate.hi === null ? null : rate.hi * (1 + more) };
  const parted = partedPasses(set)[kind];
  rate = withParted(withEcho(rate, echo), parted);
  const { lo, hi } = rate;
  const perSecond = axis === "tokens" ? (span.tokens ?? 0) / (span.window_ns / 1e9) : 1;
  // In steps windows go on until the last of these, which is no later than the watch.
  const { length_ns } = countWindows(set);
  const lengths = exposures.map((exposure, i) =>
    axis === "tokens" || set.span.steps.kind.length > 0
      ? exposure.window_end_ns - exposure.armed_ns
      : givenLength(set, i, length_ns),
  );
  const underlooked = underlookedShare(set, lengths);
  const sure = (1 - set.unwatched) * (1 - set.young) * (1 - set.lost) * (1 - left_out) * (1 - underlooked);
  rate = {
    ...rate,
    lo: lo === null ? null : lo * sure,
    hi: hi === null ? null : (hi * (1 + set.unwatched + 2 * set.young + underlooked) * (1 + left_out)) / (1 - unseen),
  };
  const looked = held.filter((x) => x > 0).sort();
  const n = looked.length;
  let touched: number | null = null;
  if (counted < FEW_HITS && n > 0) {
    const usual = Math.min(allHeld / n, looked[n >> 1] ?? Number.POSITIVE_INFINITY);
    const share = clopperPearson((counted * size) / n, size, CI_LEVEL);
    const lo = counted > 0 ? Math.min(rate.lo ?? 0, ((share.lo ?? 0) * sum(countedRates)) / counted) : 0;
    const inSteps = mostInSteps(set, axis);
    const byTime = Math.max((unit * (trapLimits(set).at(-1) ?? 1)) / usual, unit * densestCut(set, kind, generous));
    // In the time between steps a byte may be used as it may where no step is known; a token has no such time.
    const between = axis === "tokens" ? 0 : betweenShare(set);
    const nsEach = axis === "tokens" ? span.window_ns / (span.tokens ?? 1) : unit;
    const inBursts = inSteps > 0 ? nsEach * densestInStep(set, kind, generous) : 0;
    const most = inSteps > 0 ? Math.max(unit / usual, inSteps + between * byTime, inBursts) : byTime;
    touched = ((share.hi ?? 1) * unit) / usual;
    rate = interval(rate.value, lo, Math.max(rate.hi ?? 0, stringerBound(countedRates, n, size, most)));
  }
  return {
    axis,
    rate,
    touched_hi: touched === null ? rate.hi : Math.min(touched, rate.hi ?? touched),
    replicated,
    n,
    n_seen: seen,
    n_counted: counted,
    least: perSecond > 0 ? (least * sure) / perSecond : 0,
    n_effective: carrying,
    n_windows: carryingUnits(held),
    unknown: passes > 0 ? unknown / passes : 0,
    unseen,
    undrawn,
    busier: replicated.value > 0 ? busier.undrawn / replicated.value : 0,
    cut,
    uneven,
    echo,
    parted,
  };
}
