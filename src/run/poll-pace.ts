/** How long a recorder rests between two looks at the rings: long enough to cost little, short enough to lose nothing. */

/** While a target starts, libraries and tensors appear: the sooner they are seen, the less is missed. Also the least rest. */
export const EAGER_POLL_MS = 5;
/** The rest of a recorder whose every collector can wait: the rings hold 52 ms at 2.5 M rows/s and CPU. */
export const STEADY_POLL_MS = 50;
const EAGER_NS = 2_000_000_000n;
/**
 * A quarter of what can wait of one CPU, whose rows all may be: of the ring of faults, and of the names of mappings. A
 * mapping that has a name is two rows, of the name and of the call, and a third when it goes.
 */
const QUARTER = { fault: 2 ** 15, mapping: 2 ** 11 } as const;

/** Rows of a poll. */
export type Taken = Readonly<Record<keyof typeof QUARTER, number>>;

export interface PollPace {
  /** Rest in ms after a poll at `now_ns` that took so many rows. */
  after(now_ns: bigint, taken: Taken): number;
}

/**
 * A rest is as long as a quarter takes to fill at the rate of the last one, within 5 ms and the patience.
 * @param begin_ns when recording began
 * @param starting true where the target starts with the recording, false where it has been running
 * @param patience_ms the longest rest that every collector can bear
 */
export function pollPace(begin_ns: bigint, starting: boolean, patience_ms: number): PollPace {
  const longest_ms = Math.min(STEADY_POLL_MS, patience_ms);
  let last_ns = begin_ns;
  return {
    after(now_ns, taken) {
      const elapsed_ms = Math.max(1, Number(now_ns - last_ns) / 1e6);
      last_ns = now_ns;
      if (starting && now_ns - begin_ns < EAGER_NS) return EAGER_POLL_MS;
      const quarters = taken.fault / QUARTER.fault + taken.mapping / QUARTER.mapping;
      const filling_ms = quarters > 0 ? elapsed_ms / quarters : longest_ms;
      return Math.min(longest_ms, Math.max(EAGER_POLL_MS, Math.floor(filling_ms)));
    },
  };
}
