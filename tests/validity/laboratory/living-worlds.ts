/** Kinds of work whose memory comes and goes while it runs. */
import { OP } from "../../../src/schema/operation.ts";
import type { World, WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { exponential, type Hit, MS, one, RUN_NS, SECOND, trace, words } from "./shapes.ts";

/** Memory of some words that lives from one moment to another, used once in each `period` ns by `hits`. */
function buffer(
  name: string,
  [born, freed]: readonly [number, number],
  count: number,
  use: (from: number) => Hit[],
): WorldStratum {
  const list = words(() => trace(use(born).filter(([time]) => time < freed)), count);
  return { stratum: name, region_type: "activation", words: list, life_ns: [born, freed] };
}

/** Places of memory over a run. */
interface Places {
  readonly count: number;
  readonly words: number;
  /** The first of each came up to so long before the run, ns. */
  readonly since: number;
  /** When one that came at a time is freed, ns. */
  readonly freed: (born: number) => number;
  /** How long none is there after it in the mean, ns. */
  readonly away: number;
  /** What is done to a word from the birth of its memory on. */
  readonly use: (born: number, freed: number) => Hit[];
}

/** Memory that comes and goes at each of some places, one after the other. */
function comingAndGoing(random: Random, { count, words: each, since, freed: end, away, use }: Places): World {
  const strata: WorldStratum[] = [];
  for (let place = 0; place < count; place++) {
    for (let born = -since * random(); born < RUN_NS; ) {
      const freed = end(born);
      strata.push(buffer("activation", [born, freed], each, (from) => use(from, freed)));
      born = freed + away * exponential(random);
    }
  }
  return { ...one("activation", []), strata };
}

const buffers: WorldKind = {
  name: "buffers that live for 0.3 to 4 s, rewritten every 16 ms",
  make: (random) =>
    comingAndGoing(random, {
      count: 12,
      words: 40,
      since: 2 * SECOND,
      freed: (born) => born + (0.3 + 3.7 * random()) * SECOND,
      away: 0.2 * SECOND,
      use: (born, freed) => {
        const hits: Hit[] = [];
        for (let t = born + 16 * MS * random(); t < Math.min(freed, RUN_NS); t += 16 * MS)
          hits.push([t, OP.store], [t + 6 * MS, OP.load]);
        return hits;
      },
    }),
};

const lateHalf: WorldKind = {
  name: "a second half of the memory that comes at half time and is used twice as often",
  make: (random) => {
    const use =
      (period: number) =>
      (from: number): Hit[] => {
        const hits: Hit[] = [];
        for (let t = Math.max(0, from) + period * random(); t < RUN_NS; t += period * (0.5 + random()))
          hits.push([t, OP.load], ...(random() < 0.2 ? [[t + 2 * MS, OP.store] as const] : []));
        return hits;
      };
    const end = Number.POSITIVE_INFINITY;
    return {
      ...one("activation", []),
      strata: [
        buffer("activation", [-SECOND, end], 200, use(40 * MS)),
        buffer("activation", [RUN_NS / 2, end], 200, use(20 * MS)),
      ],
    };
  },
};

const requests: WorldKind = {
  name: "caches of requests that are written once, read every 10 ms and freed with the request",
  make: (random) =>
    comingAndGoing(random, {
      count: 8,
      words: 40,
      since: 1.5 * SECOND,
      freed: (born) => born + 0.2 * SECOND + 1.3 * SECOND * exponential(random),
      away: 0.3 * SECOND,
      use: (born, freed) => {
        const written = born + 0.3 * random() * (freed - born);
        const hits: Hit[] = [[written, OP.store]];
        for (let t = written + 10 * MS; t < Math.min(freed, RUN_NS); t += 10 * MS) hits.push([t, OP.load]);
        return hits;
      },
    }),
};

const aging: WorldKind = {
  name: "blocks that are read ever more seldom with age, from 2 ms apart to half a second, and freed after 0.3 to 3 s",
  make: (random) =>
    comingAndGoing(random, {
      count: 32,
      words: 20,
      since: 3 * SECOND,
      freed: (born) => born + (0.3 + 2.7 * random()) * SECOND,
      away: 0.1 * SECOND,
      use: (born, freed) => {
        const hits: Hit[] = [[born + 0.1 * MS, OP.store]];
        for (let t = born + 4 * MS * random(); t < freed; t += (4 * MS + 0.5 * (t - born)) * random())
          hits.push([t, OP.load]);
        return hits;
      },
    }),
};

export const LIVING_WORLDS: readonly WorldKind[] = [buffers, lateHalf, requests, aging];
