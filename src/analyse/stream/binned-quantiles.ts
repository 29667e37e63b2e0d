/** Quantiles of binned times, with intervals from how the groups differ. */
import { type Interval, interval } from "../../statistics/interval.ts";
import { type BinnedTimes, type Bins, COARSE, COARSE_BITS, FEW, FINE_BITS, GROUPS } from "./binned-times.ts";
import { jackknifeReach } from "./jackknife.ts";

/** Weight below this share of all is rounding. */
const NOTHING = 1e-9;

/** Lower end of a bin. */
function edge(bin: number, bits: number): number {
  if (bin === 0) return 0;
  const index = bin - 1;
  return 2 ** (index >>> bits) * (1 + (index & (2 ** bits - 1)) / 2 ** bits);
}

/** Bins that hold something, in order, and the weight of all. */
interface Occupied {
  readonly bin: Uint32Array;
  readonly event: Float64Array;
  readonly censored: Float64Array;
  readonly total: number;
}

function occupied({ event, censored }: Bins): Occupied {
  const bin: number[] = [];
  let total = 0;
  for (let i = 0; i < event.length; i++) {
    const weight = (event[i] as number) + (censored[i] as number);
    if (weight === 0) continue;
    bin.push(i);
    total += weight;
  }
  return {
    bin: Uint32Array.from(bin),
    event: Float64Array.from(bin, (i) => event[i] ?? 0),
    censored: Float64Array.from(bin, (i) => censored[i] ?? 0),
    total,
  };
}

/**
 * The value at which the product-limit curve falls to 1 - q, straight inside a bin; Infinity where it does not. With
 * `seen`, every censored time counts as a whole one, since none is shorter.
 */
function binQuantile({ bin, event, censored, total }: Occupied, seen: boolean, q: number): number {
  let atRisk = total;
  const nothing = atRisk * NOTHING;
  const target = 1 - q + 1e-12;
  let s = 1;
  for (let k = 0; k < bin.length && atRisk > nothing; k++) {
    const ended = event[k] as number;
    const cut = censored[k] as number;
    const e = seen ? ended + cut : ended;
    if (e > 0) {
      const after = atRisk - e <= nothing ? 0 : s * (1 - e / atRisk);
      if (after <= target) {
        const i = bin[k] as number;
        const from = edge(i, FINE_BITS);
        return i === 0 ? 0 : from + ((s - target) / (s - after)) * (edge(i + 1, FINE_BITS) - from);
      }
      s = after;
    }
    atRisk -= ended + cut;
  }
  return Number.POSITIVE_INFINITY;
}

/** The observations that were kept, in order; censored ones after complete ones of the same value. */
interface Ordered {
  readonly value: Float64Array;
  readonly weight: Float64Array;
  readonly complete: Uint8Array;
  /** True where all are complete and weigh the same. */
  readonly alike: boolean;
}

function ordered({ n, value, weight, complete }: BinnedTimes, seen: boolean): Ordered {
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort(
    (a, b) => (value[a] ?? 0) - (value[b] ?? 0) || (complete[b] ?? 0) - (complete[a] ?? 0),
  );
  return {
    value: Float64Array.from(order, (i) => value[i] ?? 0),
    weight: Float64Array.from(order, (i) => weight[i] ?? 0),
    complete: Uint8Array.from(order, (i) => (seen ? 1 : (complete[i] ?? 0))),
    alike: order.every((i) => (seen || complete[i] === 1) && weight[i] === weight[0]),
  };
}

/**
 * The q-quantile of kept observations: between the two nearest of equal, complete ones (Hyndman and Fan's type 7, the
 * habit of numpy and pandas), else where the product-limit curve falls to 1 - q.
 */
function keptQuantile({ value, weight, complete, alike }: Ordered, q: number): number {
  const n = value.length;
  if (alike) {
    const rank = q * (n - 1);
    const low = value[Math.floor(rank)] ?? Number.NaN;
    return low + ((value[Math.ceil(rank)] ?? Number.NaN) - low) * (rank - Math.floor(rank));
  }
  let atRisk = 0;
  for (const w of weight) atRisk += w;
  const nothing = atRisk * NOTHING;
  let s = 1;
  for (let i = 0; i < n; i++) {
    const w = weight[i] ?? 0;
    if (complete[i]) {
      s = atRisk - w <= nothing ? 0 : s * (1 - w / atRisk);
      if (s <= 1 - q + 1e-9) return value[i] ?? Number.NaN;
    }
    atRisk -= w;
  }
  return Number.POSITIVE_INFINITY;
}

/** Weights of all groups by coarse bin, and of each group in all bins. */
interface Pooled {
  readonly event: Float64Array;
  readonly censored: Float64Array;
  readonly group: Float64Array;
  readonly total: number;
}

function pool({ group_event, group_censored }: BinnedTimes): Pooled {
  const pooled = {
    event: new Float64Array(COARSE),
    censored: new Float64Array(COARSE),
    group: new Float64Array(GROUPS),
  };
  let sum = 0;
  for (let bin = 0; bin < COARSE; bin++) {
    for (let g = 0; g < GROUPS; g++) {
      const e = group_event[bin * GROUPS + g] as number;
      const c = group_censored[bin * GROUPS + g] as number;
      if (e + c === 0) continue;
      pooled.event[bin] = (pooled.event[bin] as number) + e;
      pooled.censored[bin] = (pooled.censored[bin] as number) + c;
      pooled.group[g] = (pooled.group[g] as number) + e + c;
      sum += e + c;
    }
  }
  return { ...pooled, total: sum };
}

/** How far the curve has fallen at a value, in [0, 1], without each group that has something. */
function sharesWithout(binned: BinnedTimes, pooled: Pooled, seen: boolean, value: number): number[] {
  const atRisk = pooled.group.map((weight) => pooled.total - weight);
  const s = new Float64Array(GROUPS).fill(1);
  const nothing = pooled.total * NOTHING;
  for (let bin = 0; bin < COARSE && edge(bin, COARSE_BITS) <= value; bin++) {
    const e = pooled.event[bin] as number;
    const c = pooled.censored[bin] as number;
    if (e + c === 0) continue;
    const from = edge(bin, COARSE_BITS);
    const inside = bin === 0 ? 1 : Math.min(1, (value - from) / (edge(bin + 1, COARSE_BITS) - from));
    for (let g = 0; g < GROUPS; g++) {
      const ended = e - (binned.group_event[bin * GROUPS + g] as number);
      const cut = c - (binned.group_censored[bin * GROUPS + g] as number);
      const left = atRisk[g] as number;
      if (left <= nothing) continue;
      s[g] = (s[g] as number) * Math.max(0, 1 - (inside * (seen ? ended + cut : ended)) / left);
      atRisk[g] = left - ended - cut;
    }
  }
  return [...s].map((share) => 1 - share).filter((_, g) => (pooled.group[g] as number) > 0);
}

/** Woodruff's interval (JASA 47, 1952): the quantiles at the ends of the interval of the share; its error by jackknife. */
function woodruff(q: number, quantileAt: (q: number) => number, sharesAt: (value: number) => number[]): Interval {
  const value = quantileAt(q);
  if (!Number.isFinite(value)) return interval(null, null, null);
  const reach = jackknifeReach(sharesAt(value));
  if (reach === null) return interval(value, null, null);
  return interval(value, quantileAt(Math.max(1e-9, q - reach)), quantileAt(Math.min(1 - 1e-9, q + reach)));
}

/** Share of the weight that is censored; 0 without observations. */
export function censoredShare({ n_censored, fine }: BinnedTimes): number {
  if (n_censored === 0) return 0;
  let open = 0;
  let ended = 0;
  for (let i = 0; i < fine.censored.length; i++) {
    open += fine.censored[i] as number;
    ended += fine.event[i] as number;
  }
  return open / (open + ended);
}

/**
 * One interval per q in (0, 1); a quantile that the curve does not reach has at most a lower end: that of the times as
 * they were seen. No interval with fewer than eight groups.
 */
export function binnedQuantiles(binned: BinnedTimes, qs: readonly number[]): Interval[] {
  if (binned.n === 0) return qs.map(() => interval(null, null, null));
  const pooled = pool(binned);
  const estimate = (q: number, valueAt: (q: number) => number, seen: boolean): Interval =>
    woodruff(q, valueAt, (value) => sharesWithout(binned, pooled, seen, value));
  const bins = binned.n > FEW ? occupied(binned.fine) : null;
  const reader = (seen: boolean): ((q: number) => number) => {
    if (bins !== null) return (q) => binQuantile(bins, seen, q);
    const kept = ordered(binned, seen);
    return (q) => keptQuantile(kept, q);
  };
  const quantileOfAll = reader(false);
  const found = qs.map((q) => estimate(q, quantileOfAll, false));
  if (binned.n_censored === 0 || found.every(({ value, lo }) => value !== null && lo !== null)) return found;
  const seenAt = reader(true);
  return found.map((one, k) => {
    if (one.value !== null && one.lo !== null) return one;
    return interval(one.value, one.lo ?? estimate(qs[k] ?? 0, seenAt, true).lo, one.hi);
  });
}

/** The product-limit curve at some values, ascending; arrays parallel. */
export interface BinnedShares {
  readonly values: Float64Array;
  /** Share of the weight up to each value. */
  readonly shares: Float64Array;
  /** Observations that were cut short from the value before up to each. */
  readonly censored: Float64Array;
}

/** The curve at every value that was kept, or at the upper end of every bin that holds something. */
export function binnedShares(binned: BinnedTimes): BinnedShares {
  const kept = binned.n > FEW ? null : ordered(binned, false);
  const bins = kept === null ? occupied(binned.fine) : null;
  const count = kept?.value.length ?? bins?.bin.length ?? 0;
  const values: number[] = [];
  const shares: number[] = [];
  const censored: number[] = [];
  let atRisk = bins?.total ?? 0;
  for (const weight of kept?.weight ?? []) atRisk += weight;
  const nothing = atRisk * NOTHING;
  let s = 1;
  for (let i = 0; i < count; i++) {
    const value = kept?.value[i] ?? edge((bins?.bin[i] ?? 0) + 1, FINE_BITS);
    const isWhole = kept?.complete[i] === 1;
    const ended = bins?.event[i] ?? (isWhole ? (kept?.weight[i] ?? 0) : 0);
    const cut = bins?.censored[i] ?? (isWhole ? 0 : (kept?.weight[i] ?? 0));
    if (ended > 0) s = atRisk - ended <= nothing ? 0 : s * (1 - ended / atRisk);
    atRisk -= ended + cut;
    const open = kept === null ? cut : isWhole ? 0 : 1;
    if (values.at(-1) === value) {
      shares[shares.length - 1] = 1 - s;
      censored[censored.length - 1] = (censored.at(-1) ?? 0) + open;
    } else {
      values.push(value);
      shares.push(1 - s);
      censored.push(open);
    }
  }
  return {
    values: Float64Array.from(values),
    shares: Float64Array.from(shares),
    censored: Float64Array.from(censored),
  };
}

/** The interval of the share up to each value, by leaving out one group; no ends with fewer than eight groups. */
export function binnedShareIntervals(
  binned: BinnedTimes,
  places: readonly (readonly [value: number, share: number])[],
) {
  const pooled = pool(binned);
  return places.map(([value, share]): Interval => {
    const reach = jackknifeReach(sharesWithout(binned, pooled, false, value));
    if (reach === null) return interval(share, null, null);
    return interval(share, Math.max(0, share - reach), Math.min(1, share + reach));
  });
}

/** Weight of the complete observations by group. */
export function groupWeights({ group_event }: BinnedTimes): Float64Array {
  const weight = new Float64Array(GROUPS);
  for (let index = 0; index < group_event.length; index++) {
    weight[index % GROUPS] = (weight[index % GROUPS] as number) + (group_event[index] as number);
  }
  return weight;
}
