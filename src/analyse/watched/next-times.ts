/** What comes next of a byte picked at random at a moment picked at random: each watch is one such pick, and counts once. */
import { OP } from "../../schema/operation.ts";
import type { TimedCase } from "../../statistics/inverse-censoring.ts";
import { FEWEST } from "../figures/figure-row.ts";
import type { WatchSet } from "../input/watch-set.ts";
import { MOST_CUT, passWeights, trapLimits } from "./counting/count-window.ts";
import type { Exposure } from "./exposure.ts";

/** What one watch tells; where it is known that the time is longer than any, `seen` is how long the watch was given. */
type NextTime = Pick<TimedCase, "seen" | "isWhole" | "value">;
type NextOf = (exposure: Exposure, gapNs: number, spanEnd: number) => NextTime;

export interface NextTimes {
  readonly cases: readonly TimedCase[];
  /** Share of their weight of which the k-th trap cut the time. */
  readonly cut: number;
}

const isFreed = ({ byTrap, freed_ns }: Exposure): boolean => !byTrap && !Number.isNaN(freed_ns);
const isAtEnd = ({ byTrap, end_ns }: Exposure, spanEnd: number): boolean => !byTrap && end_ns >= spanEnd;

/**
 * How long a watch would have looked from a time on if its bytes, or the span, had lasted. What does not come before these end never comes: it
 * counts among what goes on for as long as that, and no longer, or times that come late would have too few to stand for.
 */
const givenUntil = ({ watch }: Exposure, from: number): number => watch.begin_ns + watch.dwell_limit_ns - from;

/** From one gap after the arming, as from there on a pass is seen to begin, to the begin of the next pass. */
export const untilNextUse: NextOf = (exposure, gapNs, spanEnd) => {
  const { armed_ns, end_ns, passes } = exposure;
  const from = armed_ns + gapNs;
  const begin = passes.start_ns.find((start) => start >= from);
  if (begin !== undefined) return { seen: begin - from, isWhole: true, value: begin - from };
  const value = Math.max(0, end_ns - from);
  const isNone = isFreed(exposure) || isAtEnd(exposure, spanEnd);
  return { seen: isNone ? givenUntil(exposure, from) : value, isWhole: false, value };
};

/** From the arming to the last read before the next write or the free, which have to be seen to know that it is the last. */
export const untilLastNeed: NextOf = (exposure, _gapNs, spanEnd) => {
  const { armed_ns, end_ns, from, to: end, watch } = exposure;
  let value = 0;
  for (let i = from; i < end; i++) {
    const op = watch.hit_op[i];
    const time = (watch.hit_ns[i] ?? 0) - armed_ns;
    if (op === OP.load || op === OP.load_store) value = time;
    if (op === OP.store || op === OP.load_store) return { seen: time, isWhole: true, value };
  }
  const isWhole = isFreed(exposure);
  const isOpen = !isWhole && isAtEnd(exposure, spanEnd);
  return { seen: isOpen ? givenUntil(exposure, armed_ns) : end_ns - armed_ns, isWhole, value };
};

/** What the watches with a trap limit of `limit` or more tell, each by the bytes that it stands for. */
function timesOf(set: WatchSet, next: NextOf, limit: number): NextTimes {
  const spanEnd = set.span.end_ns[set.span.end_ns.length - 1] ?? 0;
  const isTaken = set.exposures.map(({ watch, armed_ns, begin_ns, window_end_ns }) => {
    // One that was armed before the span would tell of its begin, which is no moment picked at random.
    return watch.trap_limit >= limit && armed_ns >= begin_ns && window_end_ns > armed_ns + set.gap_ns;
  });
  const weights = passWeights(set, Float64Array.from(isTaken, Number));
  let all = 0;
  let cut = 0;
  const cases = set.exposures.flatMap((exposure, unit): TimedCase[] => {
    if (!isTaken[unit]) return [];
    const weight = weights[unit] ?? 0;
    const time = next(exposure, set.gap_ns, spanEnd);
    all += weight;
    if (!time.isWhole && exposure.byTrap) cut += weight;
    return [{ unit, weight, law: set.law[unit] ?? 0, ...time }];
  });
  return { cases, cut: all > 0 ? cut / all : 0 };
}

/**
 * The times of all watches, or where their k-th trap cuts too many of these, of those with a high trap limit, if they are enough to
 * tell. Never of the few because they show more, as `bestEpochs` has it.
 */
export function nextTimes(set: WatchSet, next: NextOf): NextTimes {
  const tried = trapLimits(set).map((limit) => timesOf(set, next, limit));
  const whole = tried.find(({ cases, cut }, i) => cut <= MOST_CUT && (i === 0 || cases.length >= FEWEST));
  return whole ?? tried[0] ?? { cases: [], cut: 0 };
}
