/** How many threads of a process were busy at once, by what each has run and waited between two readings. */

/** What a thread did between two readings, in ns. */
export interface ThreadTime {
  readonly ran_ns: bigint;
  /** It could have run and waited for a CPU. */
  readonly waited_ns: bigint;
}

/** A thread that ran less than this part of what the busiest did is no worker: its waiting says how busy others are. */
const LEAST_SHARE = 1 / 10;

/**
 * The mean number of threads that ran or waited for a CPU, of those that ran at least a tenth as long as the busiest. Threads
 * that work by turns are one, and those that share a CPU are as many as they are.
 * @param elapsed_ns between the readings
 */
export function busyThreads(threads: readonly ThreadTime[], elapsed_ns: bigint): number | null {
  if (elapsed_ns <= 0n) return null;
  const busiest_ns = Math.max(0, ...threads.map(({ ran_ns }) => Number(ran_ns)));
  const workers = threads.filter(({ ran_ns }) => ran_ns > 0n && Number(ran_ns) >= busiest_ns * LEAST_SHARE);
  const busy_ns = workers.reduce((sum, { ran_ns, waited_ns }) => sum + Number(ran_ns + waited_ns), 0);
  return busy_ns / Number(elapsed_ns);
}
