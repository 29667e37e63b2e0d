/** How often a byte is read or written: passes per second, per byte of the class. */
import { clopperPearson, effectiveSize } from "../../statistics/clopper-pearson.ts";
import { CI_LEVEL, type Interval, interval } from "../../statistics/interval.ts";
import { ratioInterval } from "../../statistics/ratio.ts";
import type { WatchSet } from "../input/group.ts";
import type { Exposure } from "./exposure.ts";

export type PassKind = "read" | "write";

/** Fewer addresses with a pass than this: their share carries the interval, not the resampling. */
const FEW_HITS = 10;

/** This share of a stratum's watches may see less than the time in which its passes are counted. */
const SEE_LESS = 0.05;
/** That time is at least this part of the median exposure. */
const LEAST_WINDOW = 0.25;

export interface PassRate {
  /** Mean over bytes of passes per second. */
  readonly rate: Interval;
  /** One per exposure; NaN where nothing tells it. */
  readonly perUnit: Float64Array;
  readonly n: number;
  /** Addresses that a trap limit ended inside their first pass: they borrow the rate of such addresses of their stratum. */
  readonly n_censored: number;
  /** Addresses with such a pass. */
  readonly n_seen: number;
  /** Share of the passes in which neither read nor write is known. */
  readonly unknown: number;
  /** Weight of the addresses that show their own rate over the weight of all. */
  readonly coverage: number;
}

/** Three metrics ask for the same rates. */
const rates = new WeakMap<WatchSet, Map<string, PassRate>>();

/** Count of passes of one kind; with `generous`, those of unknown kind too. */
export function countPasses(exposure: Exposure, kind: PassKind, generous = false): number {
  let count = 0;
  for (let i = 0; i < exposure.passes.count; i++) if (isOf(exposure, i, kind, generous)) count += 1;
  return count;
}

function isOf(exposure: Exposure, pass: number, kind: PassKind, generous: boolean): boolean {
  const { passes } = exposure;
  const passesOfKind = kind === "read" ? passes.reads : passes.writes;
  return (passesOfKind[pass] ?? 0) > 0 || (generous && (passes.unknown[pass] ?? 0) > 0);
}

/** Share of the passes that are of the kind, the first and the last counted half, as they bound the intervals. */
function shareBetweenEnds(exposure: Exposure, kind: PassKind, generous: boolean): number {
  const last = exposure.passes.count - 1;
  if (last < 1) return countPasses(exposure, kind, generous);
  let sum = 0;
  for (let i = 0; i <= last; i++) {
    if (isOf(exposure, i, kind, generous)) sum += i === 0 || i === last ? 0.5 : 1;
  }
  return sum / last;
}

/**
 * Squared variation coefficient of the intervals within one address, pooled: 0 for periodic, 1 for Poisson passes.
 * From the first half of the intervals against the second, so that a cycle of unequal intervals, which averages out,
 * counts as the little that it adds to the variance of their mean.
 */
function pooledVariation(set: WatchSet, members: readonly number[]): number {
  let weight = 0;
  let sum = 0;
  let gaps = 0;
  for (const i of members) {
    const passes = set.exposures[i]?.passes;
    const half = passes ? (passes.count - 1) >> 1 : 0;
    if (!passes || half < 1) continue;
    const start = passes.start_ns[0] ?? 0;
    const middle = passes.start_ns[half] ?? 0;
    const end = passes.start_ns[2 * half] ?? 0;
    const w = set.weights.bytes[i] ?? 0;
    weight += w;
    sum += w * 2 * half * ((middle - start - (end - middle)) / (end - start)) ** 2;
    gaps += w * 2 * half;
  }
  if (!(weight > 0)) return 1;
  const ratio = sum / weight;
  const n = gaps / weight;
  return ratio < n ? ratio / (1 - ratio / n) : Number.POSITIVE_INFINITY;
}

/**
 * Rates of addresses that their k-th trap ended, per ns. An end chosen by the accesses themselves makes passes over
 * time too high; with n intervals between passes n / sum (1 - cv^2 / n) is unbiased for gamma intervals: n / sum for
 * periodic passes, (n - 1) / sum for Poisson ones, as (k - 1) / T for counts. Where the variation is too large for it,
 * or there is no interval, all such addresses of the stratum share the ratio of their sums.
 */
function trapEndedRates(set: WatchSet, members: readonly number[]): { own: Map<number, number>; shared: number } {
  const variation = pooledVariation(set, members);
  let count = 0;
  let time = 0;
  const gaps = new Map<number, readonly [n: number, sum: number]>();
  for (const i of members) {
    const passes = set.exposures[i]?.passes;
    const n = (passes?.count ?? 0) - 1;
    if (!passes || n < 1) continue;
    const sum = (passes.start_ns[n] ?? 0) - (passes.start_ns[0] ?? 0);
    gaps.set(i, [n, sum]);
    count += (set.weights.bytes[i] ?? 0) * n;
    time += (set.weights.bytes[i] ?? 0) * sum;
  }
  const shared = time > 0 ? count / time : Number.NaN;
  const rateOf = new Map<number, number>();
  for (const [i, [n, sum]] of gaps) rateOf.set(i, variation <= n / 2 ? (n / sum) * (1 - variation / n) : shared);
  return { own: rateOf, shared };
}

/**
 * The time from arming within which the passes of a stratum are counted: nearly all of its watches see all of it, so the
 * count has nothing to do with what ended them. Infinite where the addresses are too unlike for one such time.
 */
function commonWindow(set: WatchSet, members: readonly number[]): number {
  const lengths = Float64Array.from(members, (i) => {
    const e = set.exposures[i];
    return e ? e.end_ns - e.begin_ns : 0;
  }).sort();
  const short = lengths[Math.floor(SEE_LESS * lengths.length)] ?? 0;
  const middle = lengths[lengths.length >> 1] ?? 0;
  return short >= LEAST_WINDOW * middle ? short : Number.POSITIVE_INFINITY;
}

/** Passes of the kind that begin within `window` of the arming. */
function countWithin(exposure: Exposure, kind: PassKind, generous: boolean, window: number): number {
  const until = exposure.begin_ns + window;
  let count = 0;
  for (let i = 0; i < exposure.passes.count && (exposure.passes.start_ns[i] ?? 0) < until; i++) {
    if (isOf(exposure, i, kind, generous)) count += 1;
  }
  return count;
}

interface UnitRates {
  /** Passes of the kind per ns; NaN where nothing in the stratum tells it. */
  readonly perNs: Float64Array;
  /** 1 where a trap limit ended the watch inside its first pass, so that its rate is that of others. */
  readonly borrowed: Uint8Array;
}

function unitRates(set: WatchSet, kind: PassKind, generous: boolean): UnitRates {
  const out = new Float64Array(set.exposures.length).fill(Number.NaN);
  const borrowed = new Uint8Array(set.exposures.length);
  const byStratum = new Map<string, number[]>();
  set.exposures.forEach((exposure, i) => {
    const list = byStratum.get(exposure.watch.stratum);
    if (list) list.push(i);
    else byStratum.set(exposure.watch.stratum, [i]);
  });
  for (const list of byStratum.values()) {
    const window = commonWindow(set, list);
    const byTrap: number[] = [];
    const early: number[] = [];
    for (const i of list) {
      const exposure = set.exposures[i];
      if (!exposure) continue;
      const length = exposure.end_ns - exposure.begin_ns;
      if (exposure.byTrap) byTrap.push(i);
      if (length >= window) out[i] = countWithin(exposure, kind, generous, window) / window;
      else if (exposure.byTrap) early.push(i);
      else out[i] = countPasses(exposure, kind, generous) / length;
    }
    const ended = trapEndedRates(set, byTrap);
    for (const i of early) {
      const exposure = set.exposures[i];
      if (!exposure) continue;
      const expected = (ended.own.get(i) ?? ended.shared) * shareBetweenEnds(exposure, kind, generous);
      if (!ended.own.has(i)) borrowed[i] = 1;
      const rest = window - (exposure.end_ns - exposure.begin_ns);
      out[i] = Number.isFinite(rest) ? (countPasses(exposure, kind, generous) + expected * rest) / window : expected;
    }
  }
  return { perNs: out, borrowed };
}

/**
 * Passes per second and byte, each address weighted by the bytes that it stands for; BCa interval over the addresses.
 * With fewer than ten addresses that show such a pass, their share has a Clopper-Pearson interval instead, times their
 * mean rate; with none, the upper end is the rate of one pass in the exposure of that share.
 */
export function passRate(set: WatchSet, kind: PassKind, generous = false): PassRate {
  let cached = rates.get(set);
  if (!cached) {
    cached = new Map();
    rates.set(set, cached);
  }
  const key = `${kind}/${generous}`;
  const found = cached.get(key) ?? computePassRate(set, kind, generous);
  cached.set(key, found);
  return found;
}

function computePassRate(set: WatchSet, kind: PassKind, generous: boolean): PassRate {
  const n = set.exposures.length;
  const { perNs, borrowed } = unitRates(set, kind, generous);
  const perUnit = new Float64Array(n);
  const top = new Float64Array(n);
  const bottom = new Float64Array(n);
  let censored = 0;
  let seen = 0;
  let passes = 0;
  let unknown = 0;
  let exposureNs = 0;
  let seenRate = 0;
  let weightAll = 0;
  let weightKnown = 0;
  set.exposures.forEach((exposure, i) => {
    const count = exposure.passes.count;
    const mine = countPasses(exposure, kind, generous);
    const rate = perNs[i] ?? Number.NaN;
    const w = set.weights.bytes[i] ?? 0;
    for (let p = 0; p < count; p++) if ((exposure.passes.unknown[p] ?? 0) > 0) unknown += 1;
    passes += count;
    exposureNs += exposure.end_ns - exposure.begin_ns;
    weightAll += w;
    perUnit[i] = rate * 1e9;
    if (borrowed[i]) censored += 1;
    else weightKnown += w;
    if (Number.isNaN(rate)) return;
    if (mine > 0) {
      seen += 1;
      seenRate += rate;
    }
    top[i] = w * rate * 1e9;
    bottom[i] = w;
  });
  let rate = seen > 0 ? ratioInterval(top, bottom, set.resamples()) : interval(null, 0, null);
  if (seen < FEW_HITS && n > 0) {
    const share = clopperPearson((seen * effectiveSize(bottom)) / Math.max(1, n), effectiveSize(bottom), CI_LEVEL);
    // Passes may all lie after the time in which they are counted: then as with none, one pass in a mean exposure.
    const each = seenRate > 0 ? (seenRate / seen) * 1e9 : (n / Math.max(1, exposureNs)) * 1e9;
    const hi = (share.hi ?? 1) * each;
    rate = interval(rate.value, Math.min(rate.lo ?? 0, (share.lo ?? 0) * each), Math.max(rate.hi ?? 0, hi));
  }
  return {
    rate,
    perUnit,
    n,
    n_censored: censored,
    n_seen: seen,
    unknown: passes > 0 ? unknown / passes : 0,
    coverage: weightAll > 0 ? weightKnown / weightAll : 0,
  };
}
