/** How long a recorder rests between two looks at the rings: long enough to cost little, short enough to lose nothing. */

/** While a target starts, libraries and tensors appear: the sooner they are seen, the less is missed. */
export const EAGER_POLL_MS = 5;
/** The rings hold 26 ms at 2.5 M rows/s and CPU; a finished watch waits 10 ms on average for its next address. */
export const STEADY_POLL_MS = 20;
const EAGER_NS = 2_000_000_000n;
/** A quarter of what the ring of one CPU holds: all rows may be those of one CPU. */
const BUSY_ROWS = 2 ** 14;

export interface PollPace {
  /** Rest in ms after a poll at `now_ns` that took `rows` out of rings. */
  after(now_ns: bigint, rows: number): number;
}

/** @param begin_ns when recording began */
export function pollPace(begin_ns: bigint): PollPace {
  let last_ns = begin_ns;
  return {
    after(now_ns, rows) {
      const elapsed_ms = Math.max(1, Number(now_ns - last_ns) / 1e6);
      last_ns = now_ns;
      const expected = (rows / elapsed_ms) * STEADY_POLL_MS;
      return now_ns - begin_ns < EAGER_NS || expected > BUSY_ROWS ? EAGER_POLL_MS : STEADY_POLL_MS;
    },
  };
}
