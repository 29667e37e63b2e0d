/** How long a recorder rests between two looks at the rings: long enough to cost little, short enough to lose nothing. */

/** While a target starts, libraries and tensors appear: the sooner they are seen, the less is missed. Also the least rest. */
export const EAGER_POLL_MS = 5;
/** The rest of a recorder whose every collector can wait: a ring holds 115 ms of faults that take a microsecond each. */
export const STEADY_POLL_MS = 50;
const EAGER_NS = 2_000_000_000n;
/**
 * What may come in a rest, as all of it may be of one CPU: two sevenths of what its ring of faults holds, and a quarter
 * of the names of mappings. A mapping that has a name is two rows, of the name and of the call, and a third when it goes.
 */
const ROWS = { fault: 2 ** 15, mapping: 2 ** 11 } as const;

/** Rows of a poll. */
export type Taken = Readonly<Record<keyof typeof ROWS, number>>;

export interface PollPace {
  /** Rest in ms after a poll at `now_ns` that took so many rows. */
  after(now_ns: bigint, taken: Taken): number;
}

/**
 * A rest is as long as so many rows take to come at the rate of the last one, within 5 ms and the patience.
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
      const rests = taken.fault / ROWS.fault + taken.mapping / ROWS.mapping;
      const filling_ms = rests > 0 ? elapsed_ms / rests : longest_ms;
      return Math.min(longest_ms, Math.max(EAGER_POLL_MS, Math.floor(filling_ms)));
    },
  };
}
