/** How long a recorder rests between two looks at the rings: long enough to cost little, short enough to lose nothing. */

/** While a target starts, libraries and tensors appear: the sooner they are seen, the less is missed. Also the least rest. */
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

/**
 * A rest is as long as a quarter of a ring takes to fill at the rate of the last one, within 5 to 20 ms.
 * @param begin_ns when recording began
 * @param starting true where the target starts with the recording, false where it has been running
 */
export function pollPace(begin_ns: bigint, starting: boolean): PollPace {
  let last_ns = begin_ns;
  return {
    after(now_ns, rows) {
      const elapsed_ms = Math.max(1, Number(now_ns - last_ns) / 1e6);
      last_ns = now_ns;
      if (starting && now_ns - begin_ns < EAGER_NS) return EAGER_POLL_MS;
      const filling_ms = (BUSY_ROWS * elapsed_ms) / Math.max(1, rows);
      return Math.min(STEADY_POLL_MS, Math.max(EAGER_POLL_MS, Math.floor(filling_ms)));
    },
  };
}
