/** By which law each watch looks back from a pass in its window: how far that is at most is how long the window is, which is so of a whole stratum. */
import type { WatchSet } from "../input/watch-set.ts";

/** Windows within this factor look back alike. */
const ALIKE = 2;

/**
 * The laws of the watches of a set, numbered from 0 on: those of one were given time by one law, and count in windows of about one length. Where some windows
 * are shorter than others, as their strata have busy words, ages are cut sooner, and what the longer ones tell of theirs is not true of these.
 * @param length_ns of the window of each exposure
 */
export function lookBackLaws({ law }: Pick<WatchSet, "law">, length_ns: ArrayLike<number>): Uint32Array {
  const numbers = new Map<string, number>();
  return law.map((given, i) => {
    const length = length_ns[i] ?? 0;
    const key = `${given}/${length > 0 ? Math.floor(Math.log(length) / Math.log(ALIKE)) : 0}`;
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  });
}
