/** How long a recorder rests between two looks at the rings: long enough to cost little, short enough to lose nothing. */
import type { Random } from "../statistics/prng.ts";

/** While a target starts, libraries and tensors appear: the sooner they are seen, the less is missed. Also the least rest. */
export const EAGER_POLL_MS = 5;
/** The rest of a recorder whose every collector can wait: a ring holds 115 ms of faults that take a microsecond each. */
export const STEADY_POLL_MS = 50;
const EAGER_NS = 2_000_000_000n;
/** A rest is cut by up to this share of it, at random. */
export const MOST_CUT_SHARE = 0.5;

export interface PollPace {
  /**
   * Rest in ms after a poll at `now_ns`.
   * @param filled what that poll took, as a share of what the collectors may hold between two polls; 1 is all of it
   */
  after(now_ns: bigint, filled: number): number;
}

/** A rest of uneven length: looks at even distances would fall into step with a program that works in even steps. */
export function unevenRest(rest_ms: number, random: Random): number {
  return rest_ms * (1 - MOST_CUT_SHARE * random());
}

/**
 * A rest is as long as the collectors take to fill at the rate of the last one, within 5 ms and the patience.
 * @param begin_ns when recording began
 * @param starting true where the target starts with the recording, false where it has been running
 * @param patience_ms the longest rest that every collector can bear
 */
export function pollPace(begin_ns: bigint, starting: boolean, patience_ms: number): PollPace {
  const longest_ms = Math.min(STEADY_POLL_MS, patience_ms);
  let last_ns = begin_ns;
  return {
    after(now_ns, filled) {
      const elapsed_ms = Math.max(1, Number(now_ns - last_ns) / 1e6);
      last_ns = now_ns;
      if (starting && now_ns - begin_ns < EAGER_NS) return EAGER_POLL_MS;
      const filling_ms = filled > 0 ? elapsed_ms / filled : longest_ms;
      return Math.min(longest_ms, Math.max(EAGER_POLL_MS, Math.floor(filling_ms)));
    },
  };
}
