/** Passes of strata of which no watch counted one: large strata that are seldom used may have more of them than all that were seen. */
import { clopperPearson } from "../../../statistics/clopper-pearson.ts";
import { CI_LEVEL } from "../../../statistics/interval.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { trapLimits } from "../counting/count-window.ts";
import type { Exposure } from "../exposure.ts";
import { lostOver } from "../lost-watches.ts";

/** Above this much of what was counted a sum is no more than bounds. */
export const MOST_UNDRAWN = 1;
export const UNDRAWN = "of bytes that may have as many no watch saw such a pass";

/** Bytes of some watches of a stratum, their squares, and the bytes times what they looked at. */
interface Looked {
  count: number;
  bytes: number;
  squares: number;
  time: number;
}

interface StratumLooked {
  readonly inWindows: Looked;
  readonly inAll: Looked;
  bytes: number;
  isCounted: boolean;
  /** Watches that saw such a pass anywhere, and the most that one of them saw; infinitely many where its last trap hid others. */
  seen: number;
  most: number;
  /** The most that one of its watches saw, cut or not; how densely, per ns, where a last trap hid what came next, and the longest window, ns. */
  together: number;
  densest: number;
  longest_ns: number;
}

function add(looked: Looked, bytes: number, time: number): void {
  if (time <= 0) return;
  looked.count += 1;
  looked.bytes += bytes;
  looked.squares += bytes ** 2;
  looked.time += bytes * time;
}

/** The passes of the watches of a set, as their windows are cut. */
export interface PassesOf {
  /** Of each exposure, ns. */
  readonly time_ns: ArrayLike<number>;
  /** What one pass of each exposure stands for, as `passWeights` gives it, by the same time. */
  readonly weights: ArrayLike<number>;
  /** How many each exposure has in its window, and anywhere. */
  readonly counted: ArrayLike<number>;
  readonly seen: ArrayLike<number>;
  /** True where windows are told in tokens: how many of these there were outside of them is not known. */
  readonly isByTokens?: boolean;
}

/** The most passes of a stratum, as a pass weighs that one of its watches sees in what these looked at. */
function mostOf(bytes: number, { count, bytes: looked, squares, time }: Looked, seen: number, each: number): number {
  if (time <= 0) return Number.POSITIVE_INFINITY;
  const watches = (clopperPearson(Math.min(seen, count), count, CI_LEVEL).hi ?? 1) * count;
  return (each * watches * bytes * squares) / looked / time;
}

/** The most passes that come together in one of some stretches; one at least. */
const mostTogether = (counts: ArrayLike<number>): number =>
  Array.from(counts).reduce((most, count) => Math.max(most, count), 1);

/** So many passes per ns a watch saw that a last trap ended, from the first pass to the last: they may have gone on like that. */
function densityOf({ byTrap, passes: { start_ns } }: Exposure, seen: number): number {
  const length = (start_ns.at(-1) ?? 0) - (start_ns[0] ?? 0);
  return byTrap && length > 0 ? Math.max(0, seen - 1) / length : 0;
}

/**
 * The most passes that strata without a counted one may have, over all that were counted, each by the bytes that it stands for. In each
 * window that may have one, by Clopper-Pearson for none of them, they come as many together as in any window of the class, or as any watch
 * of the stratum saw anywhere. Where a last trap ended one that saw some, windows may end before such bursts, so that they come no fewer
 * together than the lowest trap limit, and as many as a window has that goes on like that watch. Or, where no last trap hid what was outside
 * of the windows, in all that was looked at as many as any watch of the stratum saw there, or of the class where none of the stratum saw
 * one. Of several such strata the one counts that may have most: that none was seen of any is as likely as of that one alone. Watches of
 * which a trap was lost may have seen as large a share as they are.
 */
export function undrawnPasses(set: WatchSet, passes: PassesOf): number {
  const {
    weights: { bytes, stratum },
    exposures,
    lost,
  } = set;
  const inWindow = mostTogether(passes.counted);
  const inWatch = mostTogether(passes.seen);
  const [lowest = 1] = trapLimits(set);
  const strata = new Map<number, StratumLooked>();
  const nothing = (): Looked => ({ count: 0, bytes: 0, squares: 0, time: 0 });
  let all = 0;
  exposures.forEach((exposure, i) => {
    const { begin_ns, end_ns, armed_ns, window_end_ns, byTrap } = exposure;
    const s = stratum[i] ?? 0;
    const one = strata.get(s) ?? {
      inWindows: nothing(),
      inAll: nothing(),
      bytes: 0,
      isCounted: false,
      seen: 0,
      most: 0,
      together: inWindow,
      densest: 0,
      longest_ns: 0,
    };
    strata.set(s, one);
    const w = bytes[i] ?? 0;
    one.bytes += w;
    add(one.inWindows, w, passes.time_ns[i] ?? 0);
    add(one.inAll, w, end_ns - begin_ns);
    if ((passes.counted[i] ?? 0) > 0) one.isCounted = true;
    const seen = passes.seen[i] ?? 0;
    if (seen > 0) one.seen += 1;
    if (seen > 0) one.most = Math.max(one.most, byTrap ? Number.POSITIVE_INFINITY : seen);
    if (seen > 0) one.together = Math.max(one.together, seen, byTrap ? lowest : 0);
    one.densest = Math.max(one.densest, densityOf(exposure, seen));
    const given = Math.max(0, window_end_ns - armed_ns);
    one.longest_ns = Math.max(one.longest_ns, passes.isByTokens ? given : (passes.time_ns[i] ?? 0));
    all += (passes.weights[i] ?? 0) * (passes.counted[i] ?? 0);
  });
  let heaviest = 0;
  for (const one of strata.values()) {
    const { inWindows, inAll, bytes: stands, seen, most } = one;
    if (one.isCounted) continue;
    const together = Math.max(one.together, one.densest * one.longest_ns);
    const anywhere = passes.isByTokens ? Number.POSITIVE_INFINITY : mostOf(stands, inAll, seen, most || inWatch);
    const mass = Math.min(mostOf(stands, inWindows, 0, together), anywhere);
    if (Number.isFinite(mass)) heaviest = Math.max(heaviest, mass);
  }
  return (all > 0 ? heaviest / all : 0) + lostOver(lost);
}
