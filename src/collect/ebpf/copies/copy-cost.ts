/** What watches cost the target by slowing down its string instructions, as the timer finds it in these. */
import { clopperPearson } from "../../../statistics/clopper-pearson.ts";
import type { CollectorCost } from "../../collector.ts";
import type { StringTicks } from "./beside-watches.ts";
import { type CopySlowdown, isSlower, lostIn } from "./copy-slowdown.ts";

/** A larger share of the time of the target so lost is warned of. */
const MOST_LOST = 0.02;

/**
 * Of the time on string instructions beside a watch all is lost but what these take alone. The upper end has twice the slowdown, as copies larger than
 * ours may be slower.
 * @param beside all ticks, and those on a string instruction while a watch was on
 * @returns null where registers do not matter, or the timer found the target nowhere
 */
export function copyCost(beside: StringTicks, slowdown: CopySlowdown): CollectorCost | null {
  const { ticks, in_string, each_ns } = beside;
  if (!isSlower(slowdown) || ticks === 0) return null;
  const { value, lo, hi } = clopperPearson(in_string, ticks);
  const large = lostIn(slowdown.large);
  return {
    what: "copies slowed by watches",
    count: ticks,
    each_ns: {
      value: each_ns * (value ?? 0) * large,
      lo: each_ns * (lo ?? 0) * Math.min(large, lostIn(slowdown.page)),
      hi: each_ns * (hi ?? 1) * lostIn(2 * slowdown.large),
    },
  };
}

/**
 * What a reader must know where much of the time was lost so, or nobody can say; null where it was not.
 * @param beside as `copyCost` has it; null where there is no timer
 * @param armed share of the time in which there was a watch, in [0, 1]
 */
export function copyWarning(beside: StringTicks | null, slowdown: CopySlowdown, armed: number): string | null {
  if (!isSlower(slowdown) || armed === 0) return null;
  const times = slowdown.large.toPrecision(2);
  if (beside === null)
    return `copies and fills (memcpy, memset, read) are up to ${times} times as slow on this processor while a watch is on; without the timer nobody knows how much of the time they took, and the slowdown leaves it out`;
  if (beside.ticks === 0) return null;
  const share = beside.in_string / beside.ticks;
  if (share * lostIn(slowdown.large) <= MOST_LOST) return null;
  return `${Math.round(100 * share)} % of the CPU time went by in copies and fills (memcpy, memset, read) beside a watch, which makes them up to ${times} times as slow on this processor: figures are of a program so slowed; --source clock has no watches`;
}
