/** Counts passes by whole steps, and gives the windows of watches as many steps of each kind as the run has. */

import { wordsOf } from "../../schema/row.ts";
import type { Step } from "../../schema/words.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import type { WatchSet } from "../input/group.ts";
import { coveredStepNs, coveredSteps, stepNumberAt } from "../input/span.ts";
import { type CountWindows, windowOf } from "./count-window.ts";

/** With fewer windows that hold some of a kind, they say too little of how much of it windows hold. */
const FEWEST_WINDOWS = 10;
/** A step of which less than this share of its moments fit into windows is seen whole too seldom. */
const LEAST_FITTING = 0.2;
/** Steps of a kind are counted whole where at least this share of them fits. */
const MOST_FIT = 0.95;

const BETWEEN = "between";
type Kind = Step | typeof BETWEEN;
const STEPS = wordsOf("trace", "step");

export interface StepCounting {
  /** Time that each window holds, ns. */
  readonly held: Float64Array;
  /** What a pass of an exposure counts for that begins at a time. */
  readonly weight: (exposure: number, time_ns: number) => number;
}

/** Steps of each kind, and time between steps, ns. */
type Amounts = Record<Kind, number>;
const nothing = (): Amounts => ({ prefill: 0, decode: 0, between: 0 });

/** The windows of one stratum. */
interface Stratum {
  readonly members: number[];
  /** What a step of a number counts for where a window holds it whole; 0 where it is not counted whole. */
  readonly whole: (step: number) => number;
  /** Whether steps of a kind are counted whole. */
  readonly isWhole: Readonly<Record<Step, boolean>>;
  /** Time of the windows, by the weights of their addresses; so are the amounts. */
  time: number;
  readonly amounts: Amounts;
  /** Windows that hold some of a kind. */
  readonly windows: Amounts;
}

/**
 * Share of the time of some windows at which a step of a length may begin and end inside its window.
 * @returns by length, ns
 */
function fitting(lengths: readonly number[], weights: readonly number[]): (length: number) => number {
  const order = lengths.map((_, i) => i).sort((a, b) => (lengths[b] ?? 0) - (lengths[a] ?? 0));
  const sorted = order.map((i) => lengths[i] ?? 0);
  const time = [0];
  const weight = [0];
  for (const i of order) {
    time.push((time.at(-1) ?? 0) + (weights[i] ?? 0) * (lengths[i] ?? 0));
    weight.push((weight.at(-1) ?? 0) + (weights[i] ?? 0));
  }
  const all = time.at(-1) ?? 0;
  return (length) => {
    const longer = firstIndex(sorted.length, (i) => (sorted[i] ?? 0) > length);
    return all > 0 ? ((time[longer] ?? 0) - (weight[longer] ?? 0) * length) / all : 0;
  };
}

/** Numbers of the steps that lie inside a window as a whole: from the first up to the second. */
function stepsInside({ span: { steps } }: WatchSet, begin: number, end: number): readonly [first: number, end: number] {
  const first = firstIndex(steps.begin_ns.length, (k) => (steps.begin_ns[k] ?? 0) < begin);
  const last = firstIndex(steps.end_ns.length, (k) => (steps.end_ns[k] ?? 0) <= end);
  return [first, Math.max(first, last)];
}

function stratumOf(set: WatchSet, members: number[], time_ns: Float64Array): Stratum {
  const { steps } = set.span;
  const share = fitting(
    members.map((i) => time_ns[i] ?? 0),
    members.map((i) => set.weights.bytes[i] ?? 0),
  );
  const shares = Float64Array.from(steps.begin_ns, (begin, k) => share((steps.end_ns[k] ?? begin) - begin));
  const isWholeKind = (kind: Step): boolean => {
    let fit = 0;
    let all = 0;
    steps.kind.forEach((other, k) => {
      if (other !== kind) return;
      all += 1;
      if ((shares[k] ?? 0) >= LEAST_FITTING) fit += 1;
    });
    return all > 0 && fit >= MOST_FIT * all;
  };
  const isWhole = { prefill: isWholeKind("prefill"), decode: isWholeKind("decode") };
  const whole = (k: number): number => {
    const kind = steps.kind[k];
    const fits = shares[k] ?? 0;
    return kind !== undefined && isWhole[kind] && fits >= LEAST_FITTING ? 1 / fits : 0;
  };
  return { members, whole, isWhole, time: 0, amounts: nothing(), windows: nothing() };
}

/** Adds what one window holds to its stratum. */
function addWindow(set: WatchSet, stratum: Stratum, i: number, window: readonly [number, number], time: number): void {
  const { span } = set;
  const { steps } = span;
  const here = nothing();
  const [first, end] = stepsInside(set, ...window);
  for (let k = first; k < end; k++) {
    const counts = stratum.whole(k);
    const kind = steps.kind[k];
    if (counts === 0 || kind === undefined) continue;
    here[kind] += counts;
  }
  for (const kind of STEPS) if (!stratum.isWhole[kind]) here[kind] = coveredSteps(span, kind, ...window);
  here.between = Math.max(0, time - coveredStepNs(span, ...window));
  const w = set.weights.bytes[i] ?? 0;
  stratum.time += w * time;
  for (const kind of [...STEPS, BETWEEN] as const) {
    stratum.amounts[kind] += w * here[kind];
    if (here[kind] > 0) stratum.windows[kind] += 1;
  }
}

/**
 * Post-strata of what goes on. A step that was to begin while its CPUs were busy with an arming begins right after it, and one that goes
 * on while its CPU arms a watch, or takes one out, stands still: windows hold more steps, and more time of steps, than as much time of the
 * run does, and of a step that an end of the window cuts another share than that of its time. So steps are counted whole where nearly
 * all of them fit into windows, each by the inverse of the chance that it does (Horvitz and Thompson, JASA 47, 1952), and
 * by their share of time where they are too long. Passes in steps of a kind count by the steps of that kind in a second of the run
 * over those in the windows, passes between steps by the time between steps in either; of each stratum by itself, as the shorter its
 * windows are, the more steps they hold.
 * @param windows those in which passes are counted
 */
export function calibrateSteps(set: WatchSet, { length_ns, time_ns }: CountWindows): StepCounting {
  const { span, weights } = set;
  const { begin_ns, end_ns, counts, kind: kinds } = span.steps;
  if (begin_ns.length === 0 || span.tokens !== null) return { held: time_ns, weight: () => 1 };
  const run = nothing();
  for (const kind of STEPS) run[kind] = counts[kind].at(-1) ?? 0;
  run.between = span.window_ns - end_ns.reduce((sum, end, i) => sum + end - (begin_ns[i] ?? end), 0);
  const windows = set.exposures.map((_, i) => windowOf(set, i, length_ns[i] ?? 0));
  const looked = [...set.exposures.keys()].filter((i) => (time_ns[i] ?? 0) > 0);
  const strata = new Map(
    [...Map.groupBy(looked, (i) => weights.stratum[i] ?? 0)].map(([s, members]) => [
      s,
      stratumOf(set, members, time_ns),
    ]),
  );
  for (const stratum of strata.values())
    for (const i of stratum.members) addWindow(set, stratum, i, windows[i] ?? [0, 0], time_ns[i] ?? 0);
  const weight = (i: number, time: number): number => {
    const stratum = strata.get(weights.stratum[i] ?? 0);
    if (stratum === undefined) return 1;
    const number = stepNumberAt(span, time);
    const kind: Kind = number === null ? BETWEEN : (kinds[number] ?? BETWEEN);
    let one = 1;
    if (number !== null && kind !== BETWEEN && stratum.isWhole[kind]) {
      const [begin, end] = windows[i] ?? [0, 0];
      const isInside = (begin_ns[number] ?? 0) >= begin && (end_ns[number] ?? 0) <= end;
      one = isInside ? stratum.whole(number) : 0;
    }
    if (stratum.windows[kind] < FEWEST_WINDOWS) return one;
    return (one * (run[kind] / span.window_ns)) / (stratum.amounts[kind] / stratum.time);
  };
  return { held: time_ns, weight };
}
