/** The pace of an engine by when its steps began. */

/** Times from each begin to the next, in ns. @param begins in order of time */
export function periodsBetween(begins: readonly bigint[]): number[] {
  return begins.slice(1).map((time, i) => Number(time - (begins[i] ?? time)));
}
