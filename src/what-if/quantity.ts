/** Figures with their ends, and arithmetic on them: what comes out holds whatever of the inputs may be true. */
import type { ReportMetric } from "../schema/run-json.ts";
import type { MetricStatus } from "../schema/words.ts";

/** Something that is not below nothing. */
export interface Quantity {
  /** Null where only the ends are known. */
  readonly value: number | null;
  /** 0 where no lower end is known. */
  readonly lo: number;
  /** Null where no upper end is known. */
  readonly hi: number | null;
  readonly status: MetricStatus;
  /** Why it is no more than a bound, or nothing; null of what is whole. */
  readonly why: string | null;
  /** Measured figures that it is made of, by class and name: each has an interval of its own. */
  readonly rests_on: readonly string[];
}

const RANK: Readonly<Record<MetricStatus, number>> = { ok: 0, bound: 1, insufficient: 2, not_identifiable: 3 };

/** The worst of some quantities; the first of equals. */
function worstOf(parts: readonly Quantity[]): Quantity | undefined {
  return parts.reduce<Quantity | undefined>(
    (worst, part) => (worst === undefined || RANK[part.status] > RANK[worst.status] ? part : worst),
    undefined,
  );
}

const unite = (parts: readonly Quantity[]): string[] => [...new Set(parts.flatMap(({ rests_on }) => rests_on))];

/** A quantity of which nothing is known, with the reason. */
export function unknown(
  why: string,
  status: "insufficient" | "not_identifiable" = "not_identifiable",
  rests_on: readonly string[] = [],
): Quantity {
  return { value: null, lo: 0, hi: null, status, why, rests_on };
}

/** A number that is known, without an interval. */
export function exactly(value: number): Quantity {
  return { value, lo: value, hi: value, status: "ok", why: null, rests_on: [] };
}

/** What lies between two ends of which one at least is known. */
export function between(lo: number, hi: number | null, why: string | null, rests_on: readonly string[] = []): Quantity {
  return lo <= 0 && hi === null
    ? unknown(why ?? "no end of it is known")
    : { value: null, lo, hi, status: "bound", why, rests_on };
}

/** A saved figure. @param name as it is told in `rests_on` @param missing why there is none, where the run has no such row */
export function measured(row: ReportMetric | undefined, name: string, missing: string): Quantity {
  if (row === undefined) return unknown(missing);
  const { value, lo, hi, status, why } = row;
  const rests_on = [name];
  if (status === "insufficient" || status === "not_identifiable") return unknown(why ?? status, status, rests_on);
  if (status === "bound") return between(lo ?? 0, hi, why, rests_on);
  // A count of everything has no interval.
  if (value !== null && lo === null && hi === null) return { value, lo: value, hi: value, status, why: null, rests_on };
  return value === null ? between(lo ?? 0, hi, why, rests_on) : { value, lo: lo ?? 0, hi, status, why: null, rests_on };
}

/** The result of an operation on `parts`: whole where each of them is, a bound where one end is known, else what the worst of them is. */
function made(value: number | null, lo: number, hi: number | null, parts: readonly Quantity[]): Quantity {
  const rests_on = unite(parts);
  const worst = worstOf(parts);
  const upper = hi !== null && Number.isFinite(hi) ? hi : null;
  const lower = Number.isFinite(lo) ? lo : Number.MAX_VALUE;
  if (lower <= 0 && upper === null) {
    const status = worst !== undefined && RANK[worst.status] > RANK.bound ? worst.status : "not_identifiable";
    return { value: null, lo: 0, hi: null, status, why: worst?.why ?? "no end of it is known", rests_on };
  }
  const isWhole =
    value !== null && Number.isFinite(value) && upper !== null && parts.every(({ status }) => status === "ok");
  if (isWhole) return { value, lo: lower, hi: upper, status: "ok", why: null, rests_on };
  return { value: null, lo: lower, hi: upper, status: "bound", why: worst?.why ?? null, rests_on };
}

const both = (a: number | null, b: number | null, apply: (a: number, b: number) => number): number | null =>
  a === null || b === null ? null : apply(a, b);

/** Sum; what is not known of one is known of the sum from below. */
export function sum(...parts: readonly Quantity[]): Quantity {
  const add = (a: number, b: number): number => a + b;
  return made(
    parts.reduce<number | null>((total, { value }) => both(total, value, add), 0),
    parts.reduce((total, { lo }) => total + lo, 0),
    parts.reduce<number | null>((total, { hi }) => both(total, hi, add), 0),
    parts,
  );
}

/** Product; nothing times whatever there is is nothing. */
export function product(a: Quantity, b: Quantity): Quantity {
  const times = (x: number, y: number): number => x * y;
  const hi = a.hi === 0 || b.hi === 0 ? 0 : both(a.hi, b.hi, times);
  return made(both(a.value, b.value, times), a.lo * b.lo, hi, [a, b]);
}

/** Quotient; without an upper end where the divisor may be nothing. */
export function quotient(a: Quantity, b: Quantity): Quantity {
  const over = (x: number, y: number): number | null => (y === 0 ? null : x / y);
  const value = a.value === null || b.value === null ? null : over(a.value, b.value);
  const lo = b.hi === null ? 0 : (over(a.lo, b.hi) ?? 0);
  const hi = a.hi === null ? null : a.hi === 0 ? 0 : over(a.hi, b.lo);
  return made(value, lo, hi, [a, b]);
}

/** The larger one. */
export function most(...parts: readonly Quantity[]): Quantity {
  return made(
    parts.reduce<number | null>((top, { value }) => both(top, value, Math.max), 0),
    Math.max(0, ...parts.map(({ lo }) => lo)),
    parts.reduce<number | null>((top, { hi }) => both(top, hi, Math.max), 0),
    parts,
  );
}

/** The least share of runs in which all intervals hold that a quantity is made of, each 95 %: they may fail one at a time (Bonferroni). */
export function heldAtLeast({ rests_on }: Quantity): number {
  return Math.max(0, 1 - 0.05 * rests_on.length);
}
