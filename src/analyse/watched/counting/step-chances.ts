/** The chance of a step to be held by a window: by the times that watches were given while it began. */
import { countBelow, countUpTo } from "../../../statistics/first-index.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { FEWEST_OF_LAW } from "../dwell-laws.ts";

export const hasLaws = ({ law }: WatchSet): boolean => law.some((number) => number > 0);

/** By time: how much longer than it the times of some watches are, taken together. */
type Longer = (time: number) => number;

function beyond(set: WatchSet, members: readonly number[]): Longer {
  const terms = members
    .map((i) => [(set.exposures[i]?.watch.dwell_limit_ns ?? 0) - set.gap_ns, set.weights.bytes[i] ?? 0] as const)
    .sort(([a], [b]) => b - a);
  const negative = Float64Array.from(terms, ([time]) => -time);
  const sums = new Float64Array(terms.length + 1);
  const weights = new Float64Array(terms.length + 1);
  for (const [k, [time, weight]] of terms.entries()) {
    sums[k + 1] = (sums[k] ?? 0) + weight * time;
    weights[k + 1] = (weights[k] ?? 0) + weight;
  }
  return (time) => {
    const longer = countBelow(negative, -time);
    return (sums[longer] ?? 0) - (weights[longer] ?? 0) * time;
  };
}

/** The law of the watch that began last before a moment. */
function lawBefore({ exposures, law }: WatchSet): (moment_ns: number) => number {
  const inOrder = [...exposures.keys()].sort((a, b) => (exposures[a]?.armed_ns ?? 0) - (exposures[b]?.armed_ns ?? 0));
  const armed = Float64Array.from(inOrder, (i) => exposures[i]?.armed_ns ?? 0);
  const laws = Uint32Array.from(inOrder, (i) => law[i] ?? 0);
  return (moment) => laws[Math.max(0, countUpTo(armed, moment) - 1)] ?? 0;
}

/**
 * The same of watches that began around a moment. Where several laws gave them their times, those of the law that held then tell, and stand for as much as
 * all of them: a step that is long while watches are short has next to no chance, however long watches are at other times.
 */
export function longerAt(set: WatchSet, members: readonly number[]): (moment_ns: number) => Longer {
  const all = beyond(set, members);
  const laws = Map.groupBy(members, (i) => set.law[i] ?? 0);
  if (laws.size < 2) return () => all;
  const sumOf = (some: readonly number[]): number => some.reduce((sum, i) => sum + (set.weights.bytes[i] ?? 0), 0);
  const whole = sumOf(members);
  const ofLaw = new Map<number, Longer>();
  for (const [law, some] of laws) {
    const [longer, part] = [beyond(set, some), sumOf(some)];
    if (some.length >= FEWEST_OF_LAW && part > 0) ofLaw.set(law, (time) => (whole / part) * longer(time));
  }
  const lawAt = lawBefore(set);
  return (moment) => ofLaw.get(lawAt(moment)) ?? all;
}
