/** What a reader must know of debug registers that others held while we watched. */
import type { WatchSummary } from "./watch-summary.ts";

/** The warning of a run, or null where every register that it wanted was there all the time. */
export function registerWarning({ counts, registers }: Pick<WatchSummary, "counts" | "registers">): string | null {
  const { wanted, free_at_start, least, candidates } = registers;
  const fewest = Math.min(free_at_start, least);
  if (fewest >= wanted) return null;
  const who = candidates.map(({ comm, pid }) => `${comm} (${pid})`).join(", ");
  const tracers = who === "" ? "" : `; tracing processes: ${who}`;
  if (fewest > 0) return `at times ${fewest} of ${wanted} debug registers were free${tracers}: less was watched`;
  if (counts.armings === 0) return `no debug register was free${tracers}: nothing was watched`;
  return `at times no debug register was free${tracers}: less was watched`;
}
