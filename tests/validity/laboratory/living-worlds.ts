/** Kinds of work whose memory comes and goes while it runs. */
import { OP } from "../../../src/schema/operation.ts";
import type { WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
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

const buffers: WorldKind = {
  name: "buffers that live for 0.3 to 4 s, rewritten every 16 ms",
  make: (random) => {
    const strata: WorldStratum[] = [];
    for (let line = 0; line < 12; line++) {
      for (let born = -2 * SECOND * random(); born < RUN_NS; ) {
        const freed = born + (0.3 + 3.7 * random()) * SECOND;
        const use = (from: number): Hit[] => {
          const hits: Hit[] = [];
          for (let t = from + 16 * MS * random(); t < Math.min(freed, RUN_NS); t += 16 * MS)
            hits.push([t, OP.store], [t + 6 * MS, OP.load]);
          return hits;
        };
        strata.push(buffer("activation", [born, freed], 40, use));
        born = freed + 0.2 * SECOND * exponential(random);
      }
    }
    return { ...one("activation", []), strata };
  },
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
  make: (random) => {
    const strata: WorldStratum[] = [];
    for (let slot = 0; slot < 8; slot++) {
      for (let born = -1.5 * SECOND * random(); born < RUN_NS; ) {
        const freed = born + 0.2 * SECOND + 1.3 * SECOND * exponential(random);
        const use = (from: number): Hit[] => {
          const written = from + 0.3 * random() * (freed - from);
          const hits: Hit[] = [[written, OP.store]];
          for (let t = written + 10 * MS; t < Math.min(freed, RUN_NS); t += 10 * MS) hits.push([t, OP.load]);
          return hits;
        };
        strata.push(buffer("activation", [born, freed], 40, use));
        born = freed + 0.3 * SECOND * exponential(random);
      }
    }
    return { ...one("activation", []), strata };
  },
};

const aging: WorldKind = {
  name: "blocks that are read ever more seldom with age, from 2 ms apart to half a second, and freed after 0.3 to 3 s",
  make: (random) => {
    const strata: WorldStratum[] = [];
    for (let slot = 0; slot < 32; slot++) {
      for (let born = -3 * SECOND * random(); born < RUN_NS; ) {
        const freed = born + (0.3 + 2.7 * random()) * SECOND;
        const use = (from: number): Hit[] => {
          const hits: Hit[] = [[from + 0.1 * MS, OP.store]];
          for (let t = from + 4 * MS * random(); t < freed; t += (4 * MS + 0.5 * (t - from)) * random())
            hits.push([t, OP.load]);
          return hits;
        };
        strata.push(buffer("activation", [born, freed], 20, use));
        born = freed + 0.1 * SECOND * exponential(random);
      }
    }
    return { ...one("activation", []), strata };
  },
};

export const LIVING_WORLDS: readonly WorldKind[] = [buffers, lateHalf, requests, aging];
