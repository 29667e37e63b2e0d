/** Memory in so many strata that few watches fall on each, for good or while it is there. */
import { OP } from "../../../src/schema/operation.ts";
import type { WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import { normalDraw } from "../../../src/statistics/normal.ts";
import { between, part, world } from "./served/parts.ts";
import { exponential, type Hit, loads, MS, SECOND, timesFrom, trace, words } from "./shapes.ts";

const MANY = 150;

/** Two watches of a run fall on each stratum. */
export const MANY_STRATA: WorldKind = {
  name: "150 strata of unlike sizes, each used at its own pace, a run of 12 s",
  make: (random) => {
    const run = 12 * SECOND;
    const strata = Array.from({ length: MANY }, (_, s): WorldStratum => {
      const pace = 15 * MS * Math.exp(0.8 * normalDraw(random));
      const list = words(() => {
        const period = pace * between(random, 0.6, 1.4);
        const times = timesFrom(period * random(), run, () => period * between(random, 0.9, 1.1));
        return trace(
          times.map((time): Hit => [time, random() < 0.3 ? OP.store : OP.load]),
          run,
        );
      }, 10);
      return part("activation", String(s), list, { repeats: 1 + Math.floor(100 * exponential(random)) });
    });
    return world(run, strata);
  },
};

const SCRATCH = 12;
const BUSY_NS = 0.4 * SECOND;

/** While the program is busy each of the strata comes at the same moment, and goes at the same moment: some of them before a draw meets them. */
export const SCRATCH_TOGETHER: WorldKind = {
  name: "12 strata of scratch memory that come and go together, for 0.4 s of 1.6, beside weights read ten times as often then, 20 s",
  make: (random) => {
    const run = 20 * SECOND;
    const begins = timesFrom(-SECOND * random(), run, () => 1.6 * SECOND * between(random, 0.7, 1.3));
    const weights = words(() => {
      const times = begins.flatMap((begin, i) => {
        const idleFrom = begin + BUSY_NS;
        const idleUntil = begins[i + 1] ?? run;
        const every = (ms: number): number => ms * MS * between(random, 0.9, 1.1);
        return [
          ...timesFrom(begin + 6 * MS * random(), idleFrom, () => every(6)),
          ...timesFrom(idleFrom + 60 * MS * random(), idleUntil, () => every(60)),
        ];
      });
      return loads(times, run);
    }, 200);
    const scratch = begins.flatMap((begin) => {
      const life_ns = [Math.round(begin), Math.round(begin + BUSY_NS)] as const;
      return Array.from({ length: SCRATCH }, (_, s) => {
        const list = words(() => {
          const uses = timesFrom(begin + (1 + 5 * random()) * MS, life_ns[1] - MS, () => 8 * MS);
          const hits = uses.map((time): Hit => [time, random() < 0.3 ? OP.store : OP.load]);
          return trace([[begin + 0.1 * MS, OP.store], ...hits], run);
        }, 8);
        return part("activation", String(s), list, { life_ns, place: 1 + s, repeats: 500 });
      });
    });
    return world(run, [part("weight", "all", weights, { place: 0, repeats: 10_000 }), ...scratch]);
  },
};
