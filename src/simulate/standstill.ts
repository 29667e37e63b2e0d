/** A program that stands still while its CPU arms a watch: what was recorded of one that did not, as it would have been. */
import type { StepSample, WatchSample } from "../analyse/input/input.ts";
import { firstIndex } from "../statistics/first-index.ts";
import type { Random } from "../statistics/prng.ts";
import type { World } from "./world.ts";

interface Recorded {
  readonly watches: readonly WatchSample[];
  readonly steps: readonly StepSample[];
  readonly window_ns: number;
}

export interface Delayed extends Recorded {
  /** When that happens which a program that was left alone does at a time. */
  readonly later: (time_ns: number) => number;
}

/**
 * Each arming holds the program up for a time drawn evenly from none to twice the mean, and the watch begins at a random moment of it:
 * what comes after it comes so much later.
 * @param meanNs mean of these times
 */
export function standingStill({ watches, steps, window_ns }: Recorded, meanNs: number, random: Random): Delayed {
  const begins = Float64Array.from(watches, ({ begin_ns }) => begin_ns).sort();
  const before = begins.map(() => meanNs * random());
  const after = begins.map(() => meanNs * random());
  let sum = 0;
  const held = begins.map((_, i) => (sum += (before[i] ?? 0) + (after[i] ?? 0)));
  let last = 0;
  /** Armings before a moment: mostly as many as before the last one that was asked for. */
  const armingsBefore = (time: number): number => {
    const isLast =
      (last === 0 || (begins[last - 1] ?? 0) < time) && !((begins[last] ?? Number.POSITIVE_INFINITY) < time);
    if (!isLast) last = firstIndex(begins.length, (i) => (begins[i] ?? 0) < time);
    return last;
  };
  /** By how much all of them put it off. */
  const later = (time: number): number => time + (held[armingsBefore(time) - 1] ?? 0);
  const armed = (time: number): number => later(time) + (before[armingsBefore(time)] ?? 0);
  return {
    watches: watches.map((watch) => ({
      ...watch,
      begin_ns: armed(watch.begin_ns),
      end_ns: later(watch.end_ns),
      hit_ns: watch.hit_ns.map(later),
      region_birth_ns: later(watch.region_birth_ns),
      region_death_ns: watch.region_death_ns === null ? null : later(watch.region_death_ns),
    })),
    steps: steps.map((step) => ({ ...step, begin_ns: later(step.begin_ns), end_ns: later(step.end_ns) })),
    window_ns: later(window_ns),
    later,
  };
}

/** A world as it went: all that happens in it, at its time of a program that was held up. */
export function heldUp(world: World, { steps, window_ns, later }: Delayed): World {
  return {
    ...world,
    run_ns: window_ns,
    steps,
    strata: world.strata.map(({ life_ns, ...stratum }) => ({
      ...stratum,
      ...(life_ns === undefined ? {} : { life_ns: [later(life_ns[0]), later(life_ns[1])] as const }),
      words: stratum.words.map((word) => ({
        ...word,
        time_ns: word.time_ns.map(later),
        ...(word.freed_ns === undefined ? {} : { freed_ns: later(word.freed_ns) }),
      })),
    })),
  };
}
