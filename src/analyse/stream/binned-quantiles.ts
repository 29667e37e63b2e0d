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

/** How times of which only a lower end is known count: as those like them, as if they ended there, or as longer than any. */
type Open = "alike" | "ended" | "endless";

/** Which value stands for a quantile: where several may, the least of them, one between, or the most. */
type Side = "least" | "middle" | "most";

/** Shares that differ by less are the same. */
const SAME = 1e-9;

/** True where a curve that has fallen to `left` has reached the quantile: on the side of the most, where it has passed it. */
function isReached(left: number, q: number, side: Side): boolean {
  return side === "most" ? left === 0 || left < 1 - q - SAME : left <= 1 - q + SAME;
}

/** The whole numbers that a bin holds, and one that is as far between them as the curve has fallen inside the bin. */
function insideBin(bin: number, fallen: number, side: Side): number {
  if (bin === 0) return 0;
  const [from, end] = [edge(bin, FINE_BITS), edge(bin + 1, FINE_BITS)];
  const [least, most] = [Math.ceil(from), Math.ceil(end) - 1];
  if (side !== "middle") return side === "least" ? least : most;
  return Math.min(most, Math.max(least, from + fallen * (end - from)));
}

/** The value at which the curve falls to 1 - q; Infinity where it does not. */
function binQuantile({ bin, event, censored, total }: Occupied, open: Open, q: number, side: Side): number {
  let atRisk = total;
  const nothing = atRisk * NOTHING;
  let s = 1;
  for (let k = 0; k < bin.length && atRisk > nothing; k++) {
    const ended = event[k] as number;
    const cut = censored[k] as number;
    const e = open === "ended" ? ended + cut : ended;
    if (e > 0) {
      const after = atRisk - e <= nothing ? 0 : s * (1 - e / atRisk);
      if (isReached(after, q, side)) return insideBin(bin[k] as number, Math.min(1, (s - 1 + q) / (s - after)), side);
      s = after;
    }
    // What never ends is at risk for ever.
    atRisk -= open === "endless" ? ended : ended + cut;
  }
  return Number.POSITIVE_INFINITY;
}

/** The observations that were kept, in order; censored ones after complete ones of the same value. */
interface Ordered {
  readonly value: Float64Array;
  readonly weight: Float64Array;
  readonly complete: Uint8Array;
  readonly open: Open;
  /** True where all are complete and weigh the same. */
  readonly alike: boolean;
}

function ordered({ n, value, weight, complete }: BinnedTimes, open: Open): Ordered {
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort(
    (a, b) => (value[a] ?? 0) - (value[b] ?? 0) || (complete[b] ?? 0) - (complete[a] ?? 0),
  );
  const isEnded = open === "ended";
  return {
    value: Float64Array.from(order, (i) => value[i] ?? 0),
    weight: Float64Array.from(order, (i) => weight[i] ?? 0),
    complete: Uint8Array.from(order, (i) => (isEnded ? 1 : (complete[i] ?? 0))),
    open,
    alike: order.every((i) => (isEnded || complete[i] === 1) && weight[i] === weight[0]),
  };
}

/**
 * The q-quantile of kept observations: between the two nearest of equal, complete ones (Hyndman and Fan's type 7, the
 * habit of numpy and pandas), else where the curve falls to 1 - q.
 */
function keptQuantile({ value, weight, complete, open, alike }: Ordered, q: number, side: Side): number {
  const n = value.length;
  if (alike && side === "middle") {
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
      if (isReached(s, q, side)) return value[i] ?? Number.NaN;
    }
    if (complete[i] || open !== "endless") atRisk -= w;
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
 * One interval per q in (0, 1): the quantiles at the ends of the interval of the share (Woodruff, JASA 47, 1952), whose error is
 * by jackknife; at the lower end with all that is open as if it ended there, at the upper one as longer than any, so that the
 * quantile of the whole times lies between, whatever they are, and in whatever place of their bins. One that the curve does not
 * reach has a lower end at most. With fewer than eight groups what is open alone makes an interval.
 */
export function binnedQuantiles(binned: BinnedTimes, qs: readonly number[]): Interval[] {
  if (binned.n === 0) return qs.map(() => interval(null, null, null));
  const pooled = pool(binned);
  const isOpen = binned.n_censored > 0;
  const bins = binned.n > FEW ? occupied(binned.fine) : null;
  const reader = (open: Open): ((q: number, side: Side) => number) => {
    if (bins !== null) return (q, side) => binQuantile(bins, open, q, side);
    const kept = ordered(binned, open);
    return (q, side) => keptQuantile(kept, q, side);
  };
  const alike = reader("alike");
  const [ended, endless] = isOpen ? [reader("ended"), reader("endless")] : [alike, alike];
  return qs.map((q) => {
    const value = alike(q, "middle");
    const isKnown = Number.isFinite(value);
    const shares = sharesWithout(binned, pooled, !isKnown, isKnown ? value : ended(q, "middle"));
    const reach = jackknifeReach(shares);
    if (reach === null && !isOpen) return interval(value, null, null);
    const least = ended(Math.max(NOTHING, q - (reach ?? 0)), "least");
    if (!isKnown) return interval(null, least, null);
    return interval(value, least, endless(Math.min(1 - NOTHING, q + (reach ?? 0)), "most"));
  });
}

/** The product-limit curve at some values, ascending; arrays parallel. */
export interface BinnedShares {
  readonly values: Float64Array;
  /** Share of the weight up to each value. */
  readonly shares: Float64Array;
  /** The same where all that is open is longer than any, and where it ended as far as it was seen. */
  readonly least: Float64Array;
  readonly most: Float64Array;
  /** Observations that were cut short from the value before up to each. */
  readonly censored: Float64Array;
}

/** The curve at every value that was kept, or at the upper end of every bin that holds something. */
export function binnedShares(binned: BinnedTimes): BinnedShares {
  const kept = binned.n > FEW ? null : ordered(binned, "alike");
  const bins = kept === null ? occupied(binned.fine) : null;
  const count = kept?.value.length ?? bins?.bin.length ?? 0;
  const found = { values: [], shares: [], least: [], most: [], censored: [] } as {
    readonly [K in keyof BinnedShares]: number[];
  };
  let total = bins?.total ?? 0;
  for (const weight of kept?.weight ?? []) total += weight;
  const nothing = total * NOTHING;
  let atRisk = total;
  let endedBy = 0;
  let s = 1;
  for (let i = 0; i < count; i++) {
    const value = kept?.value[i] ?? edge((bins?.bin[i] ?? 0) + 1, FINE_BITS);
    const isWhole = kept?.complete[i] === 1;
    const ended = bins?.event[i] ?? (isWhole ? (kept?.weight[i] ?? 0) : 0);
    const cut = bins?.censored[i] ?? (isWhole ? 0 : (kept?.weight[i] ?? 0));
    if (ended > 0) s = atRisk - ended <= nothing ? 0 : s * (1 - ended / atRisk);
    atRisk -= ended + cut;
    endedBy += ended;
    const open = kept === null ? cut : isWhole ? 0 : 1;
    const place = found.values.at(-1) === value ? found.values.length - 1 : found.values.push(value) - 1;
    found.shares[place] = 1 - s;
    found.least[place] = endedBy / total;
    found.most[place] = 1 - atRisk / total;
    found.censored[place] = (found.censored[place] ?? 0) + open;
  }
  const column = (name: keyof BinnedShares): Float64Array => Float64Array.from(found[name]);
  return {
    values: column("values"),
    shares: column("shares"),
    least: column("least"),
    most: column("most"),
    censored: column("censored"),
  };
}

/** The interval of the share up to each of some values, by leaving out one group and by what is open; no ends with fewer than eight groups. */
export function binnedShareIntervals(
  binned: BinnedTimes,
  { values, shares, least, most }: BinnedShares,
  places: readonly number[],
): Interval[] {
  const pooled = pool(binned);
  return places.map((place) => {
    const share = shares[place] ?? 0;
    const reach = jackknifeReach(sharesWithout(binned, pooled, false, values[place] ?? 0));
    if (reach === null) return interval(share, null, null);
    return interval(share, Math.max(0, (least[place] ?? 0) - reach), Math.min(1, (most[place] ?? 1) + reach));
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
