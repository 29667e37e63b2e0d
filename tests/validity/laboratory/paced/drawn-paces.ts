/** Work that nobody chose, of an engine whose steps are of several lengths: how long they take, what they do, and when they change is drawn anew for each run. */
import type { StepSample } from "../../../../src/analyse/input/input.ts";
import { OP } from "../../../../src/schema/operation.ts";
import type { World, WorldKind, WorldStratum } from "../../../../src/simulate/world.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { type Hit, MS, SECOND, timesFrom, trace, words } from "../shapes.ts";
import { lengthOf, periodBefore, stepsOf, type Turn } from "./turns-of-steps.ts";

const WORDS = 100;
const CLASSES = ["weight", "kv_cache", "activation", "runtime"] as const;

const between = (random: Random, least: number, most: number): number => least * (most / least) ** random();
const often = (random: Random, share: number): boolean => random() < share;
const upTo = (random: Random, most: number): number => Math.floor(random() * (most + 1));

/** What the words of a stratum do while steps are of one length. */
interface Habit {
  /** Accesses in each step, or from one to the next, ns, by a clock that knows no steps. */
  readonly inStep: number | null;
  readonly every_ns: number;
  /** The part of a step in which they are. */
  readonly spread: number;
}

const habit = (random: Random, inSteps: boolean, length_ns: number): Habit => ({
  inStep: inSteps ? upTo(random, 5) : null,
  every_ns: between(random, Math.max(3 * MS, length_ns / 4), SECOND),
  spread: between(random, 1e-3, 1),
});

function timesIn({ inStep, every_ns, spread }: Habit, turn: Turn, steps: readonly StepSample[], random: Random) {
  if (inStep === null) return timesFrom(turn.begin_ns + random() * every_ns, turn.end_ns, () => every_ns);
  const place = random() * (1 - spread);
  return steps.flatMap((step) =>
    Array.from(
      { length: inStep },
      (_, k) => step.begin_ns + lengthOf(step) * (place + (spread * (k + 0.5)) / Math.max(1, inStep)),
    ),
  );
}

function drawnStratum(
  random: Random,
  name: number,
  byTurn: readonly (readonly [Turn, readonly StepSample[]])[],
  lengths: readonly number[],
  run_ns: number,
): WorldStratum {
  const inSteps = often(random, 0.6);
  const habits = lengths.map((length) => habit(random, inSteps, length));
  const writes = often(random, 0.4) ? 0 : 0.7 * random();
  const hot = often(random, 0.3) ? between(random, 0.03, 0.5) : 1;
  const seldom = between(random, 0.02, 0.5);
  const list = words((word) => {
    const isHot = word < hot * WORDS;
    const hits = byTurn.flatMap(([turn, steps]): Hit[] => {
      const mine = habits[turn.pace];
      if (mine === undefined) return [];
      const kept = timesIn(mine, turn, steps, random).filter(() => isHot || often(random, seldom));
      return kept.map((time) => [time, often(random, writes) ? OP.store : OP.load]);
    });
    return trace(hits, run_ns);
  }, WORDS);
  const region_type = CLASSES[Math.floor(random() * CLASSES.length)] ?? "weight";
  return { stratum: String(name), region_type, words: list, repeats: Math.round(between(random, 1, 1000)) };
}

export const drawnPaces: WorldKind = {
  name: "work drawn at random, in steps of several lengths",
  make: (random): World => {
    const run_ns = between(random, 8, 40) * SECOND;
    const lengths_ns = Array.from({ length: 2 + upTo(random, 1) }, () => between(random, 2 * MS, 200 * MS));
    const turn = between(random, 0.3, 6) * SECOND;
    const { steps, turns } = stepsOf(random, {
      run_ns,
      lengths_ns,
      first: 0,
      next: (pace) => (pace + 1 + upTo(random, lengths_ns.length - 2)) % lengths_ns.length,
      turn_ns: () => turn * (0.3 + 1.4 * random()),
      uneven: 0.3 * random(),
      rest: often(random, 0.3) ? random() : 0,
    });
    const byTurn = turns.map(
      (each) => [each, steps.filter(({ begin_ns }) => begin_ns >= each.begin_ns && begin_ns < each.end_ns)] as const,
    );
    const strata = Array.from({ length: 1 + upTo(random, 2) }, (_, i) =>
      drawnStratum(random, i, byTurn, lengths_ns, run_ns),
    );
    return { run_ns, token_period_ns: periodBefore(steps), steps, strata };
  },
};
