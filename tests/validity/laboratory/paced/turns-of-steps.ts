/** Steps of an engine that are of one length for some seconds, then of another, and what the tracer takes a token to be at each moment. */
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { firstIndex } from "../../../../src/statistics/first-index.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { MS, RUN_NS, SECOND } from "../shapes.ts";

export const SHORT_NS = 4 * MS;
export const LONG_NS = 20 * MS;
/** The tracer takes the median of so many. */
const LAST_STEPS = 32;

/** A time in which steps are of one of the lengths. */
export interface Turn {
  readonly begin_ns: number;
  readonly end_ns: number;
  /** Which of the lengths. */
  readonly pace: number;
}

export const lengthOf = (step: StepSample | undefined): number =>
  step === undefined ? 0 : step.end_ns - step.begin_ns;

/** The usual length of the last steps, by moment, ns. */
export const periodBefore =
  (steps: readonly StepSample[]) =>
  (now: number): number => {
    const done = firstIndex(steps.length, (k) => (steps[k]?.end_ns ?? 0) <= now);
    const lengths = steps.slice(Math.max(0, done - LAST_STEPS), Math.max(1, done)).map(lengthOf);
    return lengths.sort((a, b) => a - b)[lengths.length >> 1] ?? 0;
  };

/** Of what turns are made: a random number of 0 to 1 says which length comes next, how long a turn lasts, and the length of a step. */
export interface Paces {
  readonly run_ns: number;
  readonly lengths_ns: readonly number[];
  readonly first: number;
  readonly next: (pace: number) => number;
  readonly turn_ns: () => number;
  /** A step is so much shorter or longer than the length of its pace, as a share. */
  readonly uneven: number;
  /** Time between two steps, as a share of the length of its pace. */
  readonly rest: number;
}

export function stepsOf(random: Random, paces: Paces): { steps: StepSample[]; turns: Turn[] } {
  const longest = Math.max(...paces.lengths_ns) * (1 + paces.uneven);
  const last = paces.run_ns - longest;
  const steps: StepSample[] = [];
  const turns: Turn[] = [];
  let pace = paces.first;
  for (let now = 0; now <= last; pace = paces.next(pace)) {
    const begin_ns = now;
    const until = Math.min(last, now + paces.turn_ns());
    while (now <= until) {
      const usual = paces.lengths_ns[pace] ?? longest;
      const end_ns = now + usual * (1 - paces.uneven + 2 * paces.uneven * random());
      steps.push({ step: "decode", begin_ns: now, end_ns, n_tokens: 1 });
      now = end_ns + usual * paces.rest;
    }
    turns.push({ begin_ns, end_ns: now, pace });
  }
  return { steps, turns };
}

/** Short steps, pace 0, and long ones, pace 1, by turns of 2 to 4 s. */
export const shortAndLong = (random: Random, long_ns = LONG_NS): { steps: StepSample[]; turns: Turn[] } =>
  stepsOf(random, {
    run_ns: RUN_NS,
    lengths_ns: [SHORT_NS, long_ns],
    first: random() < 0.5 ? 0 : 1,
    next: (pace) => 1 - pace,
    turn_ns: () => SECOND * (2 + 2 * random()),
    uneven: 0.1,
    rest: 0,
  });
