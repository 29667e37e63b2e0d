/**
 * Windows hold more of some parts of a run than of others: where watches were given time by several laws, of what goes on while watches are long; and of its begin, as no
 * watch is longer than the run has lasted, so that there more long ones follow each other than later. Each part counts by its time, not by that of its windows.
 */

import { isInside } from "../../input/span.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { LEAST_PER_PIECE, MOST_RARE } from "../arming-density.ts";
import { withMany } from "../dwell-laws.ts";
import { passesBetween } from "./count-window.ts";

/** Windows of fewer watches of a law may be cut to next to no time: these count with those of the law beside it. */
const FEWEST_OF_CELL = 3;
/** Parts of the run that are told apart, with as many watches each. */
const MOST_PIECES = 8;
/** Parts count by their time where that moves the sum by more standard errors than chance does, and by such a share: else it would move it by chance alone. */
const SURE_Z = 4;
const LEAST_MOVED = 0.01;

/** What the window of an exposure counts for, or holds. */
type Amount = (exposure: number) => number;

const found = new WeakMap<Float64Array, Float64Array>();

/** What windows of each of some cells count for, so that a cell has the share of their time that it has of the moments at which watches began (post-strata; Holt and Smith, JRSS A 142, 1979). */
function evenCells(
  { exposures, weights, span }: WatchSet,
  cells: readonly (readonly number[])[],
  time: Amount,
): ReadonlyMap<number, number> {
  const sums = cells.map((some) => {
    const sumOf = (amount: Amount): number => some.reduce((sum, i) => sum + (weights.bytes[i] ?? 0) * amount(i), 0);
    const began = sumOf((i) => (isInside(span, exposures[i]?.armed_ns ?? Number.NaN) ? 1 : 0));
    return { some, began, held: sumOf(time) };
  });
  const those = sums.filter(({ began, held }) => began > 0 && held > 0);
  const began = those.reduce((sum, cell) => sum + cell.began, 0);
  const held = those.reduce((sum, cell) => sum + cell.held, 0);
  return new Map(
    those.flatMap((cell) => cell.some.map((i): [number, number] => [i, cell.began / began / (cell.held / held)])),
  );
}

/**
 * What windows of some exposures count for by the parts of the run in which they began: as many parts as none has so few windows that these would carry all.
 * Nothing where watches are few.
 */
function evenPieces(set: WatchSet, members: readonly number[], time: Amount): ReadonlyMap<number, number> {
  const beginOf: Amount = (i) => set.exposures[i]?.armed_ns ?? 0;
  const inOrder = members.toSorted((a, b) => beginOf(a) - beginOf(b));
  const most = Math.min(MOST_PIECES, Math.floor(inOrder.length / LEAST_PER_PIECE));
  for (let count = most; count > 1; count = Math.floor(count / 2)) {
    const from = (piece: number): number => Math.round((piece * inOrder.length) / count);
    const pieces = Array.from({ length: count }, (_, piece) => inOrder.slice(from(piece), from(piece + 1)));
    const even = evenCells(set, pieces, time);
    const times = [...even.values()];
    if (times.every((x) => x <= MOST_RARE && x >= 1 / MOST_RARE)) return even;
  }
  return new Map();
}

/**
 * True where the passes in the windows of some exposures are more or fewer by what these count for than by chance: what goes on changes over the run
 * (Hausman, Econometrica 46, 1978).
 */
function isMoved({ weights }: WatchSet, even: ReadonlyMap<number, number>, time: Amount, passes: Amount): boolean {
  const members = [...even.keys()];
  const sumOf = (amount: Amount): number => members.reduce((sum, i) => sum + (weights.bytes[i] ?? 0) * amount(i), 0);
  const rate = sumOf(passes) / sumOf(time);
  let moved = 0;
  let variance = 0;
  for (const i of members) {
    const part = (weights.bytes[i] ?? 0) * ((even.get(i) ?? 1) - 1) * (passes(i) - rate * time(i));
    moved += part;
    variance += part ** 2;
  }
  const all = rate * sumOf(time);
  return Math.abs(moved) > Math.max(SURE_Z * Math.sqrt(variance), LEAST_MOVED * all);
}

/**
 * What the window of each exposure counts for: a law has the share of the time of all windows of a stratum that it has of the moments at which its
 * watches began, which are drawn whatever goes on, and so has a part of the run where what goes on changes. 1 where there is one law and nothing changes. A law counts
 * however few watches it has: each of them stands for as much time as the watches of the run make it rare.
 * @param time_ns of each window
 */
export function evenLaws(set: WatchSet, time_ns: Float64Array): Float64Array {
  const cached = found.get(time_ns);
  if (cached !== undefined) return cached;
  const { exposures, weights, lawAt, gap_ns } = set;
  const out = new Float64Array(exposures.length).fill(1);
  found.set(time_ns, out);
  const laws = exposures.map(({ watch }) => lawAt(watch.begin_ns));
  const isOneLaw = laws.every((law) => law === laws[0]);
  const time: Amount = (i) => (out[i] ?? 1) * (time_ns[i] ?? 0);
  // Of some watches that trap at writes alone no read is known.
  const isOfWrites = exposures.some(({ watch }) => watch.mode === "w");
  const passes: Amount = (i) => {
    const exposure = exposures[i];
    if (exposure === undefined) return 0;
    const from = exposure.armed_ns + gap_ns;
    const mine = passesBetween(exposure, from, from + (time_ns[i] ?? 0));
    const count = isOfWrites ? mine.filter((p) => (exposure.passes.writes[p] ?? 0) > 0).length : mine.length;
    return (out[i] ?? 1) * count;
  };
  for (const members of Map.groupBy(exposures.keys(), (i) => weights.stratum[i] ?? 0).values()) {
    if (!isOneLaw) {
      const numbers = withMany(
        members.map((i) => laws[i] ?? 0),
        FEWEST_OF_CELL,
      );
      const cells = [...Map.groupBy(members.keys(), (k) => numbers[k] ?? 0).values()];
      const ofLaws = cells.map((places) => places.map((k) => members[k] ?? 0));
      for (const [i, times] of evenCells(set, ofLaws, time)) out[i] = times;
    }
    const even = evenPieces(set, members, time);
    if (isMoved(set, even, time, passes)) for (const [i, times] of even) out[i] = (out[i] ?? 1) * times;
  }
  return out;
}
