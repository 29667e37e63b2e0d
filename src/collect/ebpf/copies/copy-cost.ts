/** What watches cost the target by slowing down its string instructions, as the timer finds it in these. */
import { clopperPearson } from "../../../statistics/clopper-pearson.ts";
import type { CollectorCost } from "../../collector.ts";
import { type CopySlowdown, isSlower } from "./copy-slowdown.ts";

/** Ticks of the timer that found the target running, and those of them on a string instruction, its own or the kernel's. */
export interface StringTicks {
  readonly ticks: number;
  readonly in_string: number;
  /** CPU time for which each stands, ns. */
  readonly each_ns: number;
}

/** A larger share of the time of the target so lost is warned of. */
const MOST_LOST = 0.02;

const lostIn = (times: number): number => Math.max(0, 1 - 1 / times);

/**
 * Of the time on string instructions beside a watch all is lost but what these take alone. Where the target does nothing else its ticks are as often
 * beside a watch as there is one; where it seldom does, nearly all of those on a string instruction are, as these take longer there: the upper end has
 * all of them, but no more of all ticks than there may have been beside one. It lies half of the way to all the time, as a register is on a little
 * longer than its watch, and has twice the slowdown, as copies larger than ours may be slower.
 * @param armed share of the time in which there was a watch, in [0, 1]
 * @returns null where registers do not matter, or the timer found the target nowhere
 */
export function copyCost(strings: StringTicks, slowdown: CopySlowdown, armed: number): CollectorCost | null {
  const { ticks, in_string, each_ns } = strings;
  if (!isSlower(slowdown) || ticks === 0) return null;
  const { value, lo, hi } = clopperPearson(in_string, ticks);
  const large = lostIn(slowdown.large);
  return {
    what: "copies slowed by watches",
    count: ticks,
    each_ns: {
      value: each_ns * (value ?? 0) * armed * large,
      lo: each_ns * (lo ?? 0) * armed * Math.min(large, lostIn(slowdown.page)),
      hi: armed > 0 ? each_ns * Math.min(hi ?? 1, (1 + armed) / 2) * lostIn(2 * slowdown.large) : 0,
    },
  };
}

/**
 * What a reader must know where much of the time was lost so, or nobody can say; null where it was not.
 * @param strings null where there is no timer
 */
export function copyWarning(strings: StringTicks | null, slowdown: CopySlowdown, armed: number): string | null {
  if (!isSlower(slowdown) || armed === 0) return null;
  if (strings === null)
    return `copies and fills (memcpy, memset, read) are up to ${slowdown.large.toPrecision(2)} times as slow on this processor while a watch is on; without the timer nobody knows how much of the time they took, and the slowdown leaves it out`;
  const { ticks, in_string } = strings;
  if (ticks === 0) return null;
  const share = in_string / ticks;
  if (share * armed * lostIn(slowdown.large) <= MOST_LOST) return null;
  const times = slowdown.large.toPrecision(2);
  return `${Math.round(100 * share)} % of the CPU time went by in copies and fills (memcpy, memset, read), which this processor makes up to ${times} times as slow while a watch is on: figures are of a program so slowed; --source clock has no watches`;
}
