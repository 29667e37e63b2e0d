/** An estimate with its two-sided interval, and what may be said when one end is not known. */

/** Level of every interval that this program prints. */
export const CI_LEVEL = 0.95;
/** Two-sided normal quantile of CI_LEVEL. */
export const CI_Z = 1.959963984540054;

/** `lo <= value <= hi` where they are known; null is "not known", never 0 and never NaN. */
export interface Interval {
  readonly value: number | null;
  readonly lo: number | null;
  readonly hi: number | null;
}

function finite(x: number | null): number | null {
  return x !== null && Number.isFinite(x) ? x : null;
}

/** An interval in which infinite and undefined ends are null, and the ends enclose the value. */
export function interval(value: number | null, lo: number | null, hi: number | null): Interval {
  const v = finite(value);
  const l = finite(lo);
  const h = finite(hi);
  if (v === null) return { value: null, lo: l, hi: h };
  return { value: v, lo: l === null ? null : Math.min(l, v), hi: h === null ? null : Math.max(h, v) };
}

/** The interval times a constant of zero or more, such as bytes or a token's time. */
export function scaled(estimate: Interval, factor: number): Interval {
  const times = (x: number | null): number | null => (x === null ? null : x * factor);
  return interval(times(estimate.value), times(estimate.lo), times(estimate.hi));
}

/** True of an interval that leaves everything open. */
export const isWithoutEnds = (found: Interval | undefined): boolean =>
  found !== undefined && found.lo === null && found.hi === null;
