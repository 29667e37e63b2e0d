/** Exact timers without a common beat. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { table, US } from "../served/parts.ts";
import { MS, one, SECOND, traces } from "../shapes.ts";

export const heartbeats: WorldKind = {
  name: "160 timers without a common beat, of 3 ms to 6 s, exact, each of which looks at its neighbour too, 25 s",
  make: (random) => {
    const [run, count] = [25 * SECOND, 160];
    const hits = table(count);
    for (let w = 0; w < count; w++) {
      const period = 3 * MS * ((1 + Math.sqrt(5)) / 2) ** (16 * random());
      let beat = 0;
      for (let t = period * random(); t < run; t += period, beat++) {
        hits[w]?.push([t, w % 2 === 0 ? OP.load_store : beat % 7 === 0 ? OP.store : OP.load]);
        hits[(w + 1) % count]?.push([t + 4 * US, OP.load]);
      }
    }
    return one("runtime", traces(hits, run), { run_ns: run });
  },
};
