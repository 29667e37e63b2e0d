/** Stretches of a run by the pace of its steps: the time that a watch is given follows it, so that watches of one stretch do not tell what those of another would hold. */
import { carryingUnits } from "../../../statistics/carrying-units.ts";
import { countBelow, firstIndex } from "../../../statistics/first-index.ts";
import type { WatchSet } from "../../input/watch-set.ts";
import { meanInLives } from "../drawn-lives.ts";

/** The pace is the median of so many steps, as the tracer takes it. */
const LAST_STEPS = 32;
/** Steps of one pace: watches that are given the same time in tokens vary more than that. */
const ALIKE = 1.5;
/** With fewer windows that hold steps of a pace they say too little of how many of them windows hold. */
const FEWEST_WINDOWS = 10;

/** How the steps of a set are held: arrays by step, and by members of a stratum the steps that each holds. */
interface HeldSteps {
  readonly sizes: Float64Array;
  readonly turns: (exposure: number) => readonly [first: number, end: number];
  readonly weight: (exposure: number, step: number) => number;
}

const pacesOfSteps = new WeakMap<Float64Array, Uint32Array>();

/** The number of the pace before each step, from the shortest steps on. */
function pacesOf(begin_ns: Float64Array): Uint32Array {
  // One for all steps: there may be a hundred thousand.
  const scratch = new Float64Array(LAST_STEPS);
  const before = begin_ns.map((_, k) => {
    const end = Math.max(k, Math.min(2, begin_ns.length - 1));
    const from = Math.max(0, end - LAST_STEPS);
    const count = Math.max(0, end - from);
    const periods = count === LAST_STEPS ? scratch : scratch.subarray(0, count);
    for (let i = 0; i < count; i++) periods[i] = (begin_ns[from + i + 1] ?? 0) - (begin_ns[from + i] ?? 0);
    return periods.sort()[count >> 1] ?? 0;
  });
  const lower: number[] = [];
  for (const pace of before.toSorted()) if (lower.length === 0 || pace > ALIKE * (lower.at(-1) ?? 0)) lower.push(pace);
  return Uint32Array.from(before, (pace) => Math.max(0, firstIndex(lower.length, (i) => (lower[i] ?? 0) <= pace) - 1));
}

interface Pace {
  /** Steps of this pace by their sizes: those that windows hold, of each member, and those in the lives of its memory. */
  readonly parts: Float64Array;
  readonly lived: number;
  readonly numbers: readonly number[];
}

const sumOf = (numbers: Float64Array): number => numbers.reduce((sum, x) => sum + x, 0);

/** The paces, those of which few windows hold steps with the next one. */
function withMany(paces: readonly Pace[]): readonly Pace[] {
  const few = paces.findIndex(({ parts }) => carryingUnits(parts) < FEWEST_WINDOWS);
  if (few < 0 || paces.length === 1) return paces;
  const first = Math.max(0, few - 1);
  const [a, b] = [paces[first], paces[first + 1]];
  if (a === undefined || b === undefined) return paces;
  const both = {
    parts: a.parts.map((part, i) => part + (b.parts[i] ?? 0)),
    lived: a.lived + b.lived,
    numbers: [...a.numbers, ...b.numbers],
  };
  return withMany([...paces.slice(0, first), both, ...paces.slice(first + 2)]);
}

/**
 * What a step of each number counts for beside those of another pace: as many of these are held, counted so, as there are in the lives of
 * the memory (post-strata; Holt and Smith, JRSS A 142, 1979). 1 of steps of one pace.
 * @param members exposures
 */
export function paceWeights(set: WatchSet, members: readonly number[], held: HeldSteps): (step: number) => number {
  const { begin_ns } = set.span.steps;
  const paceOf = pacesOfSteps.get(begin_ns) ?? pacesOf(begin_ns);
  pacesOfSteps.set(begin_ns, paceOf);
  const count = paceOf.reduce((most, pace) => Math.max(most, pace + 1), 1);
  if (count === 1) return () => 1;
  const parts = Array.from({ length: count }, () => new Float64Array(members.length));
  for (const [which, i] of members.entries()) {
    const [first, end] = held.turns(i);
    for (let k = first; k < end; k++) {
      const mine = parts[paceOf[k] ?? 0];
      const size = (set.weights.bytes[i] ?? 0) * (held.sizes[k] ?? 0) * held.weight(i, k);
      if (mine !== undefined) mine[which] = (mine[which] ?? 0) + size;
    }
  }
  const running = new Float64Array(begin_ns.length + 1);
  const paces = parts.map((mine, pace): Pace => {
    for (let k = 0; k < begin_ns.length; k++)
      running[k + 1] = (running[k] ?? 0) + (paceOf[k] === pace ? (held.sizes[k] ?? 0) : 0);
    const lived = meanInLives(
      set,
      members,
      (from, end) => (running[countBelow(begin_ns, end)] ?? 0) - (running[countBelow(begin_ns, from)] ?? 0),
    );
    return { parts: mine, lived: lived ?? 0, numbers: [pace] };
  });
  const all = paces.reduce((sum, pace) => sum + sumOf(pace.parts), 0);
  const lived = paces.reduce((sum, pace) => sum + pace.lived, 0);
  const times = new Float64Array(count).fill(1);
  for (const pace of withMany(paces)) {
    const share = sumOf(pace.parts) / all;
    for (const number of pace.numbers) if (share > 0 && lived > 0) times[number] = pace.lived / lived / share;
  }
  return (k) => times[paceOf[k] ?? 0] ?? 1;
}
