/** A lock that is tried again and again. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { table, US } from "../served/parts.ts";
import { exponential, MS, one, SECOND, traces } from "../shapes.ts";
import { lognormal } from "./pieces.ts";

export const retries: WorldKind = {
  name: "a lock written and then tried again by reads 0.4 ms apart, mostly twice, at times thousands of times, 10 words at once, 20 s",
  make: (random) => {
    const [run, groups, size] = [20 * SECOND, 60, 10];
    const list = Array.from({ length: groups }, () => {
      const hits = table(size);
      const calm = lognormal(random, 250 * MS, 0.8);
      for (let t = calm * exponential(random); t < run; t += calm * exponential(random)) {
        for (let w = 0; w < size; w++) hits[w]?.push([t + 2 * US * w, OP.store]);
        const tries = Math.min(4000, Math.floor((1 - random()) ** (-1 / 1.1)));
        for (let k = 0; k < tries && t < run; k++) {
          t += lognormal(random, 0.4 * MS, 0.3);
          for (let w = 0; w < size; w++) hits[w]?.push([t + 2 * US * w, OP.load]);
        }
      }
      return traces(hits, run);
    });
    return one("runtime", list.flat(), { run_ns: run });
  },
};
