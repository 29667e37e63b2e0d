/** Clocks: everything is stored in CLOCK_MONOTONIC ns; a pair of readings maps another clock onto it. */

/** Two clocks read at the same moment: `other_ns` between two readings of CLOCK_MONOTONIC. */
export interface ClockPair {
  /** CLOCK_MONOTONIC, the middle of the readings before and after. */
  readonly monotonic_ns: bigint;
  readonly other_ns: bigint;
  /** Half the distance of the two readings: how far the pair may be wrong. */
  readonly uncertainty_ns: bigint;
}

/** The pair from a reading of another clock and the readings of CLOCK_MONOTONIC around it. */
export function clockPair(before_ns: bigint, other_ns: bigint, after_ns: bigint): ClockPair {
  return {
    monotonic_ns: (before_ns + after_ns) / 2n,
    other_ns,
    uncertainty_ns: (after_ns - before_ns + 1n) / 2n,
  };
}

/** A time of the other clock in CLOCK_MONOTONIC ns; the two clocks are taken to run at one rate. */
export function toMonotonic(time_ns: bigint, pair: ClockPair): bigint {
  return time_ns - pair.other_ns + pair.monotonic_ns;
}

/** A CLOCK_MONOTONIC time in ns of the other clock; for CLOCK_REALTIME that is wall time since 1970. */
export function fromMonotonic(monotonic_ns: bigint, pair: ClockPair): bigint {
  return monotonic_ns - pair.monotonic_ns + pair.other_ns;
}

/**
 * A time of the other clock in CLOCK_MONOTONIC ns, with the drift between an early and a late pair taken out.
 *
 * Linear between the pairs and beyond them. Where the pairs are not apart in time, the first alone decides.
 */
export function toMonotonicBetween(time_ns: bigint, first: ClockPair, last: ClockPair): bigint {
  const span = last.other_ns - first.other_ns;
  if (span <= 0n) return toMonotonic(time_ns, first);
  return first.monotonic_ns + ((time_ns - first.other_ns) * (last.monotonic_ns - first.monotonic_ns)) / span;
}

/** A CLOCK_MONOTONIC time as an ISO date in UTC, to the millisecond, given a pair with CLOCK_REALTIME. */
export function wallTime(monotonic_ns: bigint, pair: ClockPair): string {
  return new Date(Number(fromMonotonic(monotonic_ns, pair) / 1_000_000n)).toISOString();
}
