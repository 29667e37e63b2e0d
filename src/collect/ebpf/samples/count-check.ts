/** Whether the program saw every sample: what it counted against what the PMU counted. */

export interface EventTally {
  /** Runs of the program. */
  readonly runs: number;
  /** Sum of the periods of those runs. */
  readonly period: number;
  /** What the PMU counted. */
  readonly count: number;
  /** How long the event was wanted, and how long the PMU had a place for it, in ns. */
  readonly enabledNs: number;
  readonly runningNs: number;
  /** How long the kernel had stopped it for its rate, in ns; the count stood still. */
  readonly stoppedNs: number;
}

export interface CountCheck {
  /** Share of the events counted that the program's samples stand for; null where too few were counted to tell. */
  readonly caught: number | null;
  /** Samples that should have come and did not, those for want of a place on the PMU and while stopped included. */
  readonly unseen: number;
  /** Share of the time in which the event had a place on the PMU. */
  readonly running: number;
  /** Share of that time in which the kernel had stopped it for its rate. */
  readonly stopped: number;
}

/** Fewer periods than this, and the rests below one period on each CPU would show as a loss. */
const FEWEST_PERIODS = 20;

/**
 * Each CPU's count ends within a period after its last sample, so that much is no loss.
 * @param tallies one per CPU
 */
export function checkCount(tallies: readonly EventTally[]): CountCheck {
  let count = 0;
  let period = 0;
  let runs = 0;
  let enabled = 0;
  let running = 0;
  let stopped = 0;
  let whileStopped = 0;
  for (const tally of tallies) {
    count += tally.count;
    period += tally.period;
    runs += tally.runs;
    enabled += tally.enabledNs;
    running += tally.runningNs;
    stopped += tally.stoppedNs;
    // As many as in the rest of that CPU's time: at least, since only what is dense is stopped.
    const rest = tally.runningNs - tally.stoppedNs;
    if (rest > 0) whileStopped += (tally.runs * tally.stoppedNs) / rest;
  }
  const share = enabled > 0 ? Math.min(1, running / enabled) : 1;
  const still = running > 0 ? Math.min(1, stopped / running) : 0;
  const mean = runs > 0 ? period / runs : 0;
  const rests = tallies.filter((tally) => tally.count > 0).length * mean;
  // Without one sample nothing tells the period in use: the caller knows that it saw nothing at all.
  if (runs === 0) return { caught: count > 0 ? 0 : null, unseen: 0, running: share, stopped: still };
  const missed = Math.max(0, count - period - rests) / mean;
  const unscheduled = share > 0 ? (count / mean) * (1 / share - 1) : 0;
  const caught = count < FEWEST_PERIODS * mean ? null : Math.min(1, (period + rests) / count);
  return { caught, unseen: missed + unscheduled + whileStopped, running: share, stopped: still };
}
