/** Results that are written at any time and read at the end of the run. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, US } from "../served/parts.ts";
import { exponential, type Hit, MS, one, SECOND, trace, words } from "../shapes.ts";
import { lognormal, poisson } from "./pieces.ts";

export const harvest: WorldKind = {
  name: "counters busy for the first third, beside 14 times as many results that are written at any time and read in the last 5 %, 30 s",
  make: (random) => {
    const run = 30 * SECOND;
    const end = between(random, 0.25, 0.4) * run;
    const last = between(random, 0.94, 0.96) * run;
    const rounds: number[] = [];
    for (let t = last; t < run; t += lognormal(random, 30 * MS, 0.3)) rounds.push(t);
    const counters = words(() => {
      const gap = lognormal(random, 2.5 * MS, 0.6);
      const hits: Hit[] = [];
      for (let t = gap * random(); t < end; t += gap * exponential(random)) hits.push([t, OP.load_store]);
      return trace(hits, run);
    }, 60);
    const results = words((word) => {
      const hits: Hit[] = rounds.map((t) => [t + 25 * US * word, OP.load]);
      for (let k = 1 + poisson(random, 0.7); k > 0; k--) hits.push([random() * last, OP.store]);
      return trace(hits, run);
    }, 840);
    return one("runtime", [...counters, ...results], { run_ns: run });
  },
};
