/** Passes that may be one: the program stands still in each trap, so that accesses which follow each other are farther apart where they are watched. */
import type { Interval } from "../../statistics/interval.ts";
import type { WatchSet } from "../input/watch-set.ts";
import type { Passes } from "./passes.ts";

/** A trap parts what follows it by as much of its mean at most: it finds other caches than where it was measured. */
const MOST_OF_TRAP = 1.5;
/** Where more of the passes may be none of their own, a count of passes is no more than bounds. */
const MOST_PARTED = 0.2;
/** Quantiles over passes move by less than half of that share. */
const MOST_OF_TIMES = 0.05;

/** Shares of the passes that are part of the one before where traps parted what they may have: of those that read, that write, of all. */
export interface Parted {
  readonly read: number;
  readonly write: number;
  readonly all: number;
}

const shares = new WeakMap<WatchSet, Parted>();

/** What traps may have parted in a set of watches: in a part of a run no less than in all of it. */
export function partedPasses(set: WatchSet): Parted {
  const found = shares.get(set) ?? (set.whole ? more(computeParted(set), partedPasses(set.whole)) : computeParted(set));
  shares.set(set, found);
  return found;
}

const more = (one: Parted, other: Parted): Parted => ({
  read: Math.max(one.read, other.read),
  write: Math.max(one.write, other.write),
  all: Math.max(one.all, other.all),
});

/** Share of the passes of a kind before which, since the last gap that no trap explains, there was one of them. */
function shareOf(set: WatchSet, isOne: (passes: Passes, p: number) => boolean): number {
  const widest = set.gap_ns + MOST_OF_TRAP * set.trap_ns;
  let [every, parted] = [0, 0];
  set.exposures.forEach(({ passes }, i) => {
    const bytes = set.weights.bytes[i] ?? 0;
    let isBegun = false;
    for (let p = 0; p < passes.count; p++) {
      if (p > 0 && (passes.start_ns[p] ?? 0) - (passes.end_ns[p - 1] ?? 0) >= widest) isBegun = false;
      if (!isOne(passes, p)) continue;
      every += bytes;
      if (isBegun) parted += bytes;
      isBegun = true;
    }
  });
  return parted > 0 ? parted / every : 0;
}

const computeParted = (set: WatchSet): Parted => ({
  read: shareOf(set, ({ reads }, p) => (reads[p] ?? 0) > 0),
  write: shareOf(set, ({ writes }, p) => (writes[p] ?? 0) > 0),
  all: shareOf(set, () => true),
});

/** True where so many passes may be none that their number is no value. */
export const isParted = (share: number): boolean => share > MOST_PARTED;

/** True where so many may be none that times over passes have no upper end. */
export const movesTimes = (share: number): boolean => share > MOST_OF_TIMES;

/** A quantile of times over passes: where the shortest of them may be no times between passes it is no less than it seems. */
export const timesOfParted = (estimate: Interval, share: number): Interval =>
  movesTimes(share) ? { ...estimate, value: null, hi: null } : estimate;

export const partedReason = (share: number): string =>
  `${Math.round(100 * share)} % of the passes begin so soon after another that the traps may have parted them`;

/** A number of passes with room below for those that are none. */
export const withParted = (estimate: Interval, share: number): Interval => ({
  ...estimate,
  lo: estimate.lo === null ? null : estimate.lo * (1 - share),
});
