/** Times between passes in which other watches were armed: they tell how long a program stands still then, and of which of them the windows have too few. */
import { firstIndex } from "../../../statistics/first-index.ts";
import type { WatchSample } from "../../input/input.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { countWindows, passesIn, passWeights } from "./count-window.ts";

/** Up to so many standard errors it may be chance, and from so many on it is none; between them as much as lies between counts of it. */
const CHANCE_ERRORS = 2;
const SURE_ERRORS = 4;
/** So many watches in order of time, which see the same steps and the same armings, count as one. */
const TOGETHER = 8;
/** Fewer of these say nothing. */
const FEWEST_BLOCKS = 8;

export interface ArmingHolds {
  /** How long a program stands still at an arming, at most, ns; 0 where what is seen of it may be chance. */
  readonly still_ns: number;
  /** How many more armings there are in a time between passes than in those that were seen, in the mean. */
  readonly lacking: number;
}

const NONE: ArmingHolds = { still_ns: 0, lacking: 0 };

/** A time between two passes of an address. */
interface Between {
  readonly from: number;
  readonly end: number;
}

/** Sums of one address: of its times as of a line over the armings in the first part of each. */
interface Line {
  readonly armed_ns: number;
  readonly stratum: number;
  /** Squares of the times, of the armings, and both, around their means. */
  readonly times: number;
  readonly armings: number;
  readonly both: number;
  readonly degrees: number;
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/**
 * How times get longer with armings in them. A longer time has more of these anyway, so that those in a first part count, as long as the shortest time of
 * the address: how many are in that is chance.
 */
function lineOf(
  times: readonly Between[],
  armingsIn: (from: number, end: number) => number,
): Omit<Line, "armed_ns" | "stratum"> {
  const lengths = times.map(({ from, end }) => end - from);
  const least = lengths.reduce((shortest, x) => Math.min(shortest, x), Number.POSITIVE_INFINITY);
  const armings = times.map(({ from }) => armingsIn(from, from + least));
  const [usual, few] = [mean(lengths), mean(armings)];
  const product = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, x, j) => sum + x * (b[j] ?? 0), 0);
  const off = lengths.map((x) => x - usual);
  const more = armings.map((k) => k - few);
  return {
    times: product(off, off),
    armings: product(more, more),
    both: product(more, off),
    degrees: times.length - 1,
  };
}

/** What each line counts for: those of a stratum alike, and less where its times vary more. */
function weightsOf(lines: readonly Line[], gap_ns: number): Float64Array {
  const variances = new Map<number, readonly [sum: number, degrees: number]>();
  for (const { stratum, times, degrees } of lines) {
    const [sum, all] = variances.get(stratum) ?? [0, 0];
    variances.set(stratum, [sum + times, all + degrees]);
  }
  return Float64Array.from(lines, ({ stratum }) => {
    const [sum, degrees] = variances.get(stratum) ?? [0, 1];
    return 1 / Math.max(sum / degrees, gap_ns ** 2);
  });
}

/** What of the slope of these lines is no chance, with twice its error. */
function stillOf(some: readonly Line[], gap_ns: number): number {
  const lines = some.toSorted((a, b) => a.armed_ns - b.armed_ns);
  if (lines.length < FEWEST_BLOCKS * TOGETHER) return 0;
  const weights = weightsOf(lines, gap_ns);
  const sumOf = (from: number, end: number, part: (line: Line) => number): number =>
    lines.slice(from, end).reduce((sum, line, j) => sum + (weights[from + j] ?? 0) * part(line), 0);
  const spread = sumOf(0, lines.length, ({ armings }) => armings);
  if (!(spread > 0)) return 0;
  const slope = sumOf(0, lines.length, ({ both }) => both) / spread;
  let variance = 0;
  for (let first = 0; first < lines.length; first += TOGETHER) {
    variance += sumOf(first, first + TOGETHER, ({ both, armings }) => both - slope * armings) ** 2;
  }
  const error = Math.sqrt(variance) / spread;
  const heard = Math.min(1, (slope / error - CHANCE_ERRORS) / (SURE_ERRORS - CHANCE_ERRORS));
  return heard > 0 ? heard * (slope + 2 * error) : 0;
}

/**
 * What armings do to times between passes. A watch never sees the one in which it was armed itself, and the next arming comes later behind one than
 * behind a random moment, as each waits for its turn: so the times that are seen have fewer armings than those of the run, and are as much shorter.
 * @param watches all of the run, of every class
 */
export function armingHolds(set: WatchSet, watches: readonly Pick<WatchSample, "begin_ns">[]): ArmingHolds {
  const { exposures, gap_ns, span } = set;
  const { length_ns } = countWindows(set);
  const begins = Float64Array.from(watches, ({ begin_ns }) => begin_ns).sort();
  const begun = (moment: number): number => firstIndex(begins.length, (i) => (begins[i] ?? 0) < moment);
  const armingsIn = (from: number, end: number): number => begun(end) - begun(from);
  const weights = passWeights(set);
  const lines: Line[] = [];
  let [count, time, armings] = [0, 0, 0];
  exposures.forEach(({ passes: { start_ns, count: all }, armed_ns }, i) => {
    const times = [...passesIn(set, i, length_ns[i] ?? 0)].flatMap((p): Between[] =>
      p + 1 < all ? [{ from: start_ns[p] ?? 0, end: start_ns[p + 1] ?? 0 }] : [],
    );
    const weight = weights[i] ?? 0;
    for (const { from, end } of times) {
      count += weight;
      time += weight * (end - from);
      armings += weight * armingsIn(from, end);
    }
    if (times.length > 1) lines.push({ ...lineOf(times, armingsIn), armed_ns, stratum: set.weights.stratum[i] ?? 0 });
  });
  const still_ns = stillOf(lines, gap_ns);
  const [first, last] = [span.begin_ns[0] ?? 0, span.end_ns[span.end_ns.length - 1] ?? 0];
  if (still_ns === 0 || !(count > 0) || !(last > first)) return NONE;
  const usual = (armingsIn(first, last) / (last - first)) * (time / count);
  return { still_ns, lacking: Math.max(0, usual - armings / count) };
}
