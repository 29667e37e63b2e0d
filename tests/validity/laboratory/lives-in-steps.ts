/** Kinds of work whose memory comes and goes while the steps of an engine go on. */
import { OP } from "../../../src/schema/operation.ts";
import type { WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { between, inside, part, type Step, world } from "./served/parts.ts";
import { exponential, type Hit, MS, RUN_NS, SECOND, trace, words } from "./shapes.ts";

/** Decode steps of a token over the run, each with some time after it. */
function decoding(random: Random, [least, most]: readonly [number, number], idle = 0): Step[] {
  const out: Step[] = [];
  for (let now = -random() * most; now < RUN_NS; ) {
    const end_ns = now + between(random, least, most);
    out.push({ step: "decode", begin_ns: now, end_ns, n_tokens: 1 });
    now = end_ns + idle * exponential(random);
  }
  return inside(out, RUN_NS);
}

const lengthOf = ({ begin_ns, end_ns }: Step): number => end_ns - begin_ns;

/** Memory of some words that lives from one moment to another at a place, and what is done to each of them meanwhile. */
function living(
  region_type: "activation" | "kv_cache",
  place: number,
  [born, freed]: readonly [number, number],
  count: number,
  use: (word: number) => Hit[],
): WorldStratum {
  const inLife = (word: number): Hit[] => use(word).filter(([time]) => time >= born && time < freed);
  const list = words((word) => trace(inLife(word)), count);
  return part(region_type, region_type, list, { life_ns: [born, freed], place });
}

const aging: WorldKind = {
  name: "blocks read in steps of 10 to 30 ms, ever more seldom with age, and freed after 0.3 to 3 s",
  make: (random) => {
    const steps = decoding(random, [10 * MS, 30 * MS]);
    const strata: WorldStratum[] = [];
    for (let place = 0; place < 24; place++) {
      for (let next = -3 * SECOND * random(); next < RUN_NS; ) {
        const born = next;
        const freed = born + (0.3 + 2.7 * random()) * SECOND;
        const reads = (): Hit[] =>
          steps
            .filter(({ begin_ns }) => begin_ns > born && random() < 1 / (1 + (begin_ns - born) / (60 * MS)))
            .map((step) => [step.begin_ns + random() * lengthOf(step), OP.load]);
        strata.push(living("activation", place, [born, freed], 20, () => [[born + 0.1 * MS, OP.store], ...reads()]));
        next = freed + 0.1 * SECOND * exponential(random);
      }
    }
    return world(RUN_NS, strata, { steps, token_period_ns: 20 * MS });
  },
};

const LAYERS = 4;

const copied: WorldKind = {
  name: "caches that are copied to new memory in each step of 30 to 50 ms, read twice there and once by the next copy",
  make: (random) => {
    const steps = decoding(random, [30 * MS, 50 * MS]);
    const strata: WorldStratum[] = [];
    for (let layer = 0; layer < LAYERS; layer++) {
      steps.forEach((step, k) => {
        const next = steps[k + 1];
        const inLayer = (one: Step, share: number): number => one.begin_ns + ((layer + share) / LAYERS) * lengthOf(one);
        const freed = next === undefined ? Number.POSITIVE_INFINITY : inLayer(next, 0.4);
        const life = [inLayer(step, 0.1), freed] as const;
        const use = (): Hit[] => {
          const row = 0.1 * random();
          const hits: Hit[] = [
            [inLayer(step, 0.15 + row), OP.store],
            [inLayer(step, 0.3 + row), OP.load],
            [inLayer(step, 0.45 + 2 * row), OP.load],
          ];
          return next === undefined ? hits : [...hits, [inLayer(next, 0.2 + row), OP.load]];
        };
        strata.push(living("kv_cache", 2 * layer + (k % 2), life, 40, use));
      });
    }
    return world(RUN_NS, strata, { steps, token_period_ns: 40 * MS });
  },
};

const scratch: WorldKind = {
  name: "scratch memory of requests of 5 to 60 steps of 5 to 15 ms, used five times in each of the first four, once in every third later",
  make: (random) => {
    const steps: Step[] = [];
    const strata: WorldStratum[] = [];
    for (let now = 0, request = 0; now < RUN_NS; request++) {
      const born = now;
      const mine: Step[] = [];
      for (let left = 5 + Math.floor(55 * random()); left > 0; left--) {
        const end_ns = now + between(random, 5, 15) * MS;
        mine.push({ step: "decode", begin_ns: now, end_ns, n_tokens: 1 });
        now = end_ns + 0.2 * MS;
      }
      steps.push(...mine);
      const inStep = (step: Step, number: number): Hit[] => {
        const times = number < 4 ? 5 : number % 3 === 0 ? 1 : 0;
        return Array.from({ length: times }, (_, i): Hit => {
          const share = (i + 0.1 + 0.8 * random()) / times;
          return [step.begin_ns + share * lengthOf(step), i === 0 ? OP.store : OP.load];
        });
      };
      strata.push(living("activation", request % 3, [born, now], 60, () => mine.flatMap(inStep)));
      now += 30 * MS * exponential(random);
    }
    return world(RUN_NS, strata, { steps: inside(steps, RUN_NS), token_period_ns: 10 * MS });
  },
};

/** Tokens of a block of a cache. */
const BLOCK = 16;

const paged: WorldKind = {
  name: "blocks of caches that come with every 16th step of their request, are read in each later one and freed with it",
  make: (random) => {
    const steps = decoding(random, [15 * MS, 25 * MS], 2 * MS);
    const strata: WorldStratum[] = [];
    /** A block from the step on in which its first row is written. */
    const block = (place: number, first: number, end: number): void => {
      const step = steps[Math.max(0, first)];
      if (step === undefined || end <= 0) return;
      const born = first < 0 ? -SECOND : step.begin_ns + 0.1 * lengthOf(step);
      const freed = (steps[end]?.begin_ns ?? Number.POSITIVE_INFINITY) - 0.5 * MS;
      const use = (row: number): Hit[] =>
        steps.slice(Math.max(0, first + row), Math.max(0, end)).map((one, i): Hit => {
          const isWrite = i === 0 && first + row >= 0;
          return [one.begin_ns + (isWrite ? 0.5 : 0.3 + 0.6 * random()) * lengthOf(one), isWrite ? OP.store : OP.load];
        });
      strata.push(living("kv_cache", place, [born, freed], BLOCK, use));
    };
    for (let slot = 0; slot < 4; slot++) {
      for (let begin = -Math.floor(60 * random()); begin < steps.length; ) {
        const end = begin + 20 + Math.floor(100 * random());
        for (let first = begin, i = 0; first < end; first += BLOCK, i++) block(10 * slot + i, first, end);
        begin = end + Math.floor(10 * random());
      }
    }
    return world(RUN_NS, strata, { steps, token_period_ns: 21 * MS });
  },
};

export const LIVES_IN_STEPS: readonly WorldKind[] = [aging, copied, scratch, paged];
