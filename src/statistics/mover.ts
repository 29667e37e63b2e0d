/** The interval of a difference of two independent estimates, from their own intervals. */

/** An estimate; an end that is not known is null. */
export interface Ends {
  readonly value: number;
  readonly lo: number | null;
  readonly hi: number | null;
}

/**
 * `b - a` by the method of variance estimates recovery (MOVER: Zou and Donner, Statistics in Medicine 27, 2008): each
 * end takes the distance of that side from both intervals, so that skewed intervals are combined as they are. Both must
 * have the same level, which the difference then has.
 */
export function moverDifference(a: Ends, b: Ends): Ends {
  const exact = b.value - a.value;
  // What is left of two equal figures by rounding is no difference.
  const value = Math.abs(exact) < 1e-12 * Math.abs(a.value) ? 0 : exact;
  const below = a.hi === null || b.lo === null ? null : Math.hypot(b.value - b.lo, a.hi - a.value);
  const above = a.lo === null || b.hi === null ? null : Math.hypot(b.hi - b.value, a.value - a.lo);
  return { value, lo: below === null ? null : value - below, hi: above === null ? null : value + above };
}

/**
 * `b - a` where at least one is only a bound: the farthest that both allow. Wider than needed: both must be outside to
 * be wrong.
 */
export function boundDifference(a: Omit<Ends, "value">, b: Omit<Ends, "value">): Omit<Ends, "value"> {
  return {
    lo: a.hi === null || b.lo === null ? null : b.lo - a.hi,
    hi: a.lo === null || b.hi === null ? null : b.hi - a.lo,
  };
}
