/** A table that moves as a whole, once. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import { exponential, type Hit, MS, SECOND, timesFrom, trace, words } from "../shapes.ts";
import { between, part, US, world } from "./parts.ts";

export const rehash: WorldKind = {
  name: "a table read seldom, moved as a whole once, under a header 10000 times smaller read every 1.3 ms",
  make: (random) => {
    const run = 16 * SECOND;
    const [count, event] = [3000, between(random, 3, 13) * SECOND];
    const length = between(random, 500, 900) * MS;
    const entries = words((word) => {
      const moment = event + (word / count) * length;
      const mean = 2.5 * SECOND * Math.exp(normalDraw(random));
      const before = timesFrom(mean * exponential(random), moment, () => mean * exponential(random));
      // What was moved is met in the cache for a while, then read as seldom as before.
      const after = timesFrom(
        moment + 5 * MS + 0.3 * mean * exponential(random),
        run,
        () => 0.5 * mean * exponential(random),
      );
      return trace(
        [
          ...before.map((time): Hit => [time, random() < 0.1 ? OP.store : OP.load]),
          [moment, OP.load],
          [moment + 40 * US, OP.store],
          ...after.map((time): Hit => [time, OP.load]),
        ],
        run,
      );
    }, count);
    const header = words((word) => {
      const place = 0.3 * MS * random();
      return trace(
        timesFrom(place, run, () => 1.3 * MS * (0.7 + 0.6 * random())).map(
          (time): Hit => [time, word < 3 && random() < 0.02 ? OP.load_store : OP.load],
        ),
        run,
      );
    }, 30);
    return world(run, [part("unknown", "table", entries, { repeats: 100 }), part("unknown", "header", header)]);
  },
};
