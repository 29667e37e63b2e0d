/** When the pages of the target are looked at again: a look walks page tables, and holds the lock of the map meanwhile. */

export interface LookPace {
  isDue(nowNs: bigint): boolean;
  /** Takes note of a look that is over. @param heldNs how long it held the lock, in all its pieces */
  looked(beginNs: bigint, heldNs: bigint, rows: number): void;
}

/** Until the first look: by then other parts have found their tensors and drawn their first watches, which is not to wait for it. */
const FIRST_NS = 1_000_000_000n;
/** Least time between the begins of two looks. */
const LEAST_NS = 1_000_000_000n;
/** Looks hold the lock for at most 1/SHARE of the time. */
const SHARE = 1000n;
/** At most so many rows a second: what is scattered over memory is told less often. */
const ROW_NS = 1_000_000n;
/** A look is at most this part of the time before it: the files of a day are no larger than those of two hours by much. */
const AGE_SHARE = 64n;

/** @param beginNs when the recording began */
export function createLookPace(beginNs: bigint): LookPace {
  let nextNs = beginNs + FIRST_NS;
  return {
    isDue: (nowNs) => nowNs >= nextNs,
    looked(lookNs, heldNs, rows) {
      const gaps = [LEAST_NS, heldNs * SHARE, BigInt(rows) * ROW_NS, (lookNs - beginNs) / AGE_SHARE];
      nextNs = lookNs + gaps.reduce((most, gap) => (gap > most ? gap : most));
    },
  };
}
