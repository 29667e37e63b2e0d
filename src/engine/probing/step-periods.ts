/** The pace of an engine by when its steps began. */

/** Times from each begin to the next, in ns. @param begins in order of time */
export function periodsBetween(begins: readonly bigint[]): number[] {
  return begins.slice(1).map((time, i) => Number(time - (begins[i] ?? time)));
}

/** The one in the middle, ns; null where there are fewer than two. */
export function medianPeriod(periods: readonly number[]): number | null {
  if (periods.length < 2) return null;
  return periods.toSorted((a, b) => a - b)[periods.length >> 1] ?? null;
}
