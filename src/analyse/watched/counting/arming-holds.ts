/** Times between passes in which other watches were armed: they tell how long a program stands still then, and of which of them the windows have too few. */
import { countBelow } from "../../../statistics/first-index.ts";
import type { Interval } from "../../../statistics/interval.ts";
import { mean } from "../../../statistics/mean.ts";
import type { WatchSample } from "../../input/input.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { countWindows, passesIn } from "./count-window.ts";

/** Up to so many standard errors it may be chance, and from so many on it is none; between them as much as lies between counts of it. */
const CHANCE_ERRORS = 2;
const SURE_ERRORS = 4;
/** So many watches in order of time, which see the same steps and the same armings, count as one. */
const TOGETHER = 8;
/** Fewer of these say nothing. */
const FEWEST_BLOCKS = 8;
/** A program uses a word several times in a step: times over so many passes are tried, of which whole steps are most alike. */
const PASSES = [1, 2, 3, 4];

/** How many watches of any class began from one moment up to another. */
export type ArmingsIn = (from: number, end: number) => number;

/** @param watches all of a run, of every class */
export function armingsOf(watches: readonly Pick<WatchSample, "begin_ns">[]): ArmingsIn {
  let begins: Float64Array | null = null;
  return (from, end) => {
    begins ??= Float64Array.from(watches, ({ begin_ns }) => begin_ns).sort();
    return countBelow(begins, end) - countBelow(begins, from);
  };
}

/** What armings add to times of which the windows have too few with an arming in them. */
export interface ArmingHolds {
  /** How long a program stands still at an arming, at most, ns. */
  readonly still_ns: number;
  /** How many more armings there are in such a time of the run than in those that were seen, in the mean. */
  readonly lacking: number;
}

/** A time that was seen to its end, with what it counts for. */
export interface SeenTime {
  readonly from: number;
  readonly end: number;
  readonly weight: number;
}

/** A time between two passes of an address. */
type Between = Pick<SeenTime, "from" | "end">;

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

/**
 * How times get longer with armings in them. A longer time has more of these anyway, so that those in a first part count, as long as the shortest time of
 * the address: how many are in that is chance.
 */
function lineOf(times: readonly Between[], armingsIn: ArmingsIn): Omit<Line, "armed_ns" | "stratum"> {
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

/** How much longer an arming makes a time, ns. */
interface Slope {
  readonly slope: number;
  readonly error: number;
}

/** The slope of these lines; null where too few tell it. */
function slopeOf(some: readonly Line[], gap_ns: number): Slope | null {
  const lines = some.toSorted((a, b) => a.armed_ns - b.armed_ns);
  if (lines.length < FEWEST_BLOCKS * TOGETHER) return null;
  const weights = weightsOf(lines, gap_ns);
  const sumOf = (from: number, end: number, part: (line: Line) => number): number =>
    lines.slice(from, end).reduce((sum, line, j) => sum + (weights[from + j] ?? 0) * part(line), 0);
  const spread = sumOf(0, lines.length, ({ armings }) => armings);
  if (!(spread > 0)) return null;
  const slope = sumOf(0, lines.length, ({ both }) => both) / spread;
  let variance = 0;
  for (let first = 0; first < lines.length; first += TOGETHER) {
    variance += sumOf(first, first + TOGETHER, ({ both, armings }) => both - slope * armings) ** 2;
  }
  return { slope, error: Math.sqrt(variance) / spread };
}

/** What of a slope is no chance, with twice its error. */
function heardOf({ slope, error }: Slope): number {
  const heard = Math.min(1, (slope / error - CHANCE_ERRORS) / (SURE_ERRORS - CHANCE_ERRORS));
  return heard > 0 ? heard * (slope + 2 * error) : 0;
}

const NO_SLOPE: Slope = { slope: 0, error: 1 };
const stills = new WeakMap<WatchSet, number>();

/** How long a program stands still at an arming, at most, by the times between passes in the windows of a set, ns; 0 where what is seen of it may be chance. */
export function armingStill(set: WatchSet): number {
  const found = stills.get(set);
  if (found !== undefined) return found;
  const { exposures, armingsIn = () => 0, weights } = set;
  const { length_ns } = countWindows(set);
  const linesOver = (many: number): Line[] =>
    exposures.flatMap(({ passes: { start_ns, count }, armed_ns }, i) => {
      const times = [...passesIn(set, i, length_ns[i] ?? 0)].flatMap((p): Between[] =>
        p + many < count ? [{ from: start_ns[p] ?? 0, end: start_ns[p + many] ?? 0 }] : [],
      );
      return times.length > 1 ? [{ ...lineOf(times, armingsIn), armed_ns, stratum: weights.stratum[i] ?? 0 }] : [];
    });
  const slopes = PASSES.flatMap((many) => slopeOf(linesOver(many), set.gap_ns) ?? []);
  const surest = slopes.reduce((one, other) => (other.error < one.error ? other : one), slopes[0] ?? NO_SLOPE);
  const still_ns = heardOf(surest);
  stills.set(set, still_ns);
  return still_ns;
}

/**
 * What armings add to times. A watch never sees the one in which it was armed itself, and the next arming comes later behind one than behind a random moment,
 * as each waits for its turn: so the times that are seen have fewer armings than those of the run, and are as much shorter.
 * @param timesOf those that were seen, asked for where a program stands still
 * @returns null where it adds nothing
 */
export function armingHolds(set: WatchSet, timesOf: () => Iterable<SeenTime>): ArmingHolds | null {
  const { span, armingsIn } = set;
  const [first, last] = [span.begin_ns[0] ?? 0, span.end_ns[span.end_ns.length - 1] ?? 0];
  const still_ns = armingsIn === undefined ? 0 : armingStill(set);
  if (armingsIn === undefined || still_ns === 0 || last <= first) return null;
  let [count, time, armings] = [0, 0, 0];
  for (const { from, end, weight } of timesOf()) {
    count += weight;
    time += weight * (end - from);
    armings += weight * armingsIn(from, end);
  }
  const lacking = ((armingsIn(first, last) / (last - first)) * time - armings) / count;
  return lacking > 0 ? { still_ns, lacking } : null;
}

/** What a time and its weight become with the armings that it lacks: as many in each, and one more in a share of them. */
export function withArmings({
  still_ns,
  lacking,
}: ArmingHolds): readonly { readonly longer_ns: number; readonly share: number }[] {
  const [all, share] = [Math.floor(lacking), lacking % 1];
  return [
    { longer_ns: all * still_ns, share: 1 - share },
    { longer_ns: (all + 1) * still_ns, share },
  ];
}

/** An interval whose upper end is no nearer than another one. */
export const upTo = ({ value, lo, hi }: Interval, most: number | null): Interval => ({
  value,
  lo,
  hi: hi === null || most === null ? null : Math.max(hi, most),
});
