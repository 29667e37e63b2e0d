/** What traps hold up: in windows of busy words a program does less than elsewhere, as it stands still in the traps of every watch. */
import { firstIndex } from "../../../statistics/first-index.ts";
import type { WatchSample } from "../../input/input.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { countWindows, windowOf } from "../counting/count-window.ts";

/** How many traps there were from one moment to another, of whatever watch. */
export type TrapsIn = (begin_ns: number, end_ns: number) => number;

/** A trap holds a program that fills its caches up for as much longer than it takes where that was measured: both come back to what the other left. */
const COLD_NS = 20_000;
/** Where traps take more of a window than this the rest of it tells nothing of how much the program would have done. */
const MOST_STILL = 0.9;

/** @param watches all of a run, of every class: each of them holds the program up */
export function trapsOf(watches: readonly WatchSample[]): TrapsIn {
  let sorted: Float64Array | null = null;
  return (begin_ns, end_ns) => {
    if (sorted === null) {
      sorted = new Float64Array(watches.reduce((sum, { hit_ns }) => sum + hit_ns.length, 0));
      let filled = 0;
      for (const { hit_ns } of watches) {
        sorted.set(hit_ns, filled);
        filled += hit_ns.length;
      }
      sorted.sort();
    }
    const times = sorted;
    const before = (moment: number): number => firstIndex(times.length, (i) => (times[i] ?? 0) < moment);
    return before(end_ns) - before(begin_ns);
  };
}

/** Less than this is let be: it would stay in the interval however long the run, of programs that wait for a clock too. */
const LEAST_MORE = 0.03;

/**
 * How many more passes there may be in windows of time, over those that were counted, had the program not stood still in traps meanwhile: as many in that
 * time as in the rest of the window. A program that waits for a clock makes none of these up, one that works all the time does.
 * @param counted what each watch adds to the sum
 */
export function heldUp(set: WatchSet, counted: ArrayLike<number>): number {
  const { trapsIn } = set;
  if (trapsIn === undefined) return 0;
  const { length_ns } = countWindows(set);
  let [all, more] = [0, 0];
  for (const i of set.exposures.keys()) {
    const mine = counted[i] ?? 0;
    const [begin_ns, end_ns] = windowOf(set, i, length_ns[i] ?? 0);
    if (mine <= 0 || end_ns <= begin_ns) continue;
    const still = Math.min(MOST_STILL, ((set.trap_ns + COLD_NS) * trapsIn(begin_ns, end_ns)) / (end_ns - begin_ns));
    all += mine;
    more += (mine * still) / (1 - still);
  }
  return more > LEAST_MORE * all ? more / all : 0;
}
