/** Values that are read the more often the sooner they are rewritten. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { type Hit, MS, one, SECOND, trace, words } from "../shapes.ts";
import { lognormal, poisson } from "./pieces.ts";

export const popular: WorldKind = {
  name: "the sooner rewritten, the more often read: up to 40 reads in 20 ms, none in a second, 20 s",
  make: (random) => {
    const [run, median] = [20 * SECOND, 120 * MS];
    const list = words(() => {
      const usual = lognormal(random, median, 0.5);
      const hits: Hit[] = [];
      for (let t = -usual * random(); t < run; ) {
        const life = lognormal(random, usual, 1.1);
        hits.push([t, OP.store]);
        const reads = Math.min(40, poisson(random, Math.min(60, 6 * (median / life) ** 1.3)));
        for (let k = 0; k < reads; k++) hits.push([t + life * (0.02 + 0.9 * random()), OP.load]);
        t += life;
      }
      return trace(hits, run);
    }, 300);
    return one("activation", list, { run_ns: run });
  },
};
