/** Objects of short and of long life. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, whole } from "../served/parts.ts";
import { exponential, type Hit, MS, one, SECOND, trace, words } from "../shapes.ts";
import { lognormal } from "./pieces.ts";

export const objects: WorldKind = {
  name: "objects that live for 30 ms or for 5 s, the latter read ever more seldom and once more at their end, a fifth given back, 35 s",
  make: (random) => {
    const run = 35 * SECOND;
    const share = between(random, 0.06, 0.16);
    const list = words(() => {
      const freed = random() < 0.2 ? between(random, 0.4, 0.98) * run : null;
      const hits: Hit[] = [];
      for (let t = random() < 0.5 ? -3 * SECOND * random() : 60 * MS * random(); t < run; ) {
        const long = random() < share;
        const life = long ? lognormal(random, 5 * SECOND, 0.5) : between(random, 15, 50) * MS;
        hits.push([t, OP.store]);
        if (long) {
          for (let age = 10 * MS; age < life; age *= between(random, 1.1, 1.7)) hits.push([t + age, OP.load]);
          hits.push([t + life, OP.load]);
        } else for (let k = whole(random, 6); k > 0; k--) hits.push([t + life * (0.05 + 0.95 * random()), OP.load]);
        t += life + 30 * MS * exponential(random);
      }
      return freed === null
        ? trace(hits, run)
        : {
            ...trace(
              hits.filter(([time]) => time < freed),
              run,
            ),
            freed_ns: freed,
          };
    }, 500);
    return one("runtime", list, { run_ns: run });
  },
};
