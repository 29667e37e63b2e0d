/** Stretches of a run in which watches were given time by one law: it follows the length of a token, so that what a long watch sees is mostly of the slow ones. */
import { firstIndex } from "../../statistics/first-index.ts";
import { mean } from "../../statistics/mean.ts";
import type { WatchSample } from "../input/input.ts";

/** The number of the law by which a watch that began at a moment was given its time; 0 where there is one. */
export type LawAt = (begin_ns: number) => number;

/** Times of short watches of one pace lie within this factor, as they vary by half around their middle (design.ts). */
const MOST_OF_ONE = 3;
/** What rounding and the clock add to it. */
const ROUNDING = 1.02;
/** So many short watches on either side of a moment tell the middle of their times there. */
const BESIDE = 4;
/** Middles that are so much apart are tried as two. */
const APART = 1.25;
/** Two whose times are less apart than that are one, as are those of too few watches to tell. */
const ALIKE = 1.3;
const SURE_Z = 3;
/** Standard deviation of the logarithm of the time of a short watch: of a uniform one from a half to one and a half of its middle. */
const SPREAD = 0.31;
/** What fewer watches show of a law is too little. */
export const FEWEST_OF_LAW = 10;

/** Watches around one middle. */
interface Stretch {
  readonly middles: readonly number[];
  /** Logarithms of the times of the short ones among them. */
  readonly logs: readonly number[];
}

/** The two neighbours that are most alike, if they are one: the number of the first. */
function pairToJoin(stretches: readonly Stretch[]): number | null {
  let best: number | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i + 1 < stretches.length; i++) {
    const [a, b] = [stretches[i]?.logs ?? [], stretches[i + 1]?.logs ?? []];
    const apart = Math.abs(mean(b) - mean(a));
    const error = SPREAD * Math.sqrt(1 / a.length + 1 / b.length);
    const isOne = Math.min(a.length, b.length) < FEWEST_OF_LAW || apart < Math.max(Math.log(ALIKE), SURE_Z * error);
    if (!isOne || !(apart < least || best === null)) continue;
    best = i;
    least = apart;
  }
  return best;
}

function joined(stretches: readonly Stretch[]): readonly Stretch[] {
  const i = pairToJoin(stretches);
  const [a, b] = i === null ? [] : [stretches[i], stretches[i + 1]];
  if (i === null || a === undefined || b === undefined) return stretches;
  const both = { middles: [...a.middles, ...b.middles], logs: [...a.logs, ...b.logs] };
  return joined([...stretches.slice(0, i), both, ...stretches.slice(i + 2)]);
}

/**
 * The laws by which watches were given their times, from the shortest on: by the times of the short ones around each, itself left out. None of it
 * depends on what a watch saw.
 * @param watches all of the run, of every class
 */
export function lawsOf(watches: readonly WatchSample[]): LawAt {
  const isShort = ({ design }: WatchSample): boolean => design === "short";
  const inOrder = watches.toSorted((a, b) => a.begin_ns - b.begin_ns);
  const shorts = inOrder.filter(isShort);
  const times = shorts.map(({ dwell_limit_ns }) => dwell_limit_ns).filter((ns) => ns > 0);
  const least = times.reduce((x, ns) => Math.min(x, ns), Number.POSITIVE_INFINITY);
  const most = times.reduce((x, ns) => Math.max(x, ns), 0);
  if (shorts.length <= 2 * BESIDE || most <= MOST_OF_ONE * ROUNDING * least) return () => 0;
  let before = 0;
  const middles = inOrder.map((watch) => {
    const from = Math.max(0, Math.min(before - BESIDE, shorts.length - 2 * BESIDE - 1));
    const beside = shorts.slice(from, from + 2 * BESIDE + 1).filter((other) => other !== watch);
    if (shorts[before] === watch) before += 1;
    return mean(beside.map(({ dwell_limit_ns }) => dwell_limit_ns));
  });
  const middleOf = (i: number): number => middles[i] ?? 0;
  const fine: { middles: number[]; logs: number[] }[] = [];
  for (const i of [...inOrder.keys()].sort((a, b) => middleOf(a) - middleOf(b))) {
    let last = fine.at(-1);
    if (last === undefined || middleOf(i) > APART * (last.middles[0] ?? 0)) {
      last = { middles: [], logs: [] };
      fine.push(last);
    }
    last.middles.push(middleOf(i));
    const watch = inOrder[i];
    if (watch !== undefined && isShort(watch)) last.logs.push(Math.log(watch.dwell_limit_ns));
  }
  const lower = joined(fine).map(({ middles: [first = 0] }) => first);
  const laws = middles.map((middle) => Math.max(0, firstIndex(lower.length, (k) => (lower[k] ?? 0) <= middle) - 1));
  return (begin_ns) =>
    laws[firstIndex(inOrder.length, (i) => (inOrder[i]?.begin_ns ?? 0) < begin_ns)] ?? laws.at(-1) ?? 0;
}

/** The laws of some watches, numbered anew from 0 on: one by which too few were given their time counts as its neighbour. */
export function withMany(laws: readonly number[], fewest = FEWEST_OF_LAW): Uint32Array {
  const counts: number[] = [];
  for (const law of laws) counts[law] = (counts[law] ?? 0) + 1;
  let next = 0;
  let gathered = 0;
  const numbers = Array.from(counts, (count = 0) => {
    if (gathered >= fewest) {
      next += 1;
      gathered = 0;
    }
    gathered += count;
    return next;
  });
  // The last of too few joins those before it.
  if (gathered < fewest && next > 0) next -= 1;
  return Uint32Array.from(laws, (law) => Math.min(next, numbers[law] ?? 0));
}
