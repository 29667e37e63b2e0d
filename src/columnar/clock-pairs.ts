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
