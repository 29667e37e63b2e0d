/** A log of commits that is read back now and then. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { table, US, whole } from "../served/parts.ts";
import { exponential, MS, one, SECOND, traces } from "../shapes.ts";
import { lognormal, poisson } from "./pieces.ts";

export const log: WorldKind = {
  name: "a log written by commits of all sizes, read back after one in 300 and whole at two or so rare audits, 40 s",
  make: (random) => {
    const [run, count] = [40 * SECOND, 800];
    const hits = table(count);
    let head = whole(random, count);
    let pace = 5 * MS;
    for (let now = 0; now < run; now += pace * exponential(random)) {
      if (random() < 0.005) pace = lognormal(random, 5 * MS, 0.8);
      const size = Math.min(count / 2, Math.ceil(4 * (1 - random()) ** (-1 / 1.5)));
      for (let k = 0; k < size; k++) hits[(head + k) % count]?.push([now + 2 * US * k, OP.store]);
      if (random() < 1 / 300)
        for (let k = 0; k < size; k++)
          hits[(head + size - 1 - k) % count]?.push([now + 0.4 * MS + 3 * US * k, OP.load]);
      head = (head + size) % count;
    }
    for (let audit = 1 + poisson(random, 1.5); audit > 0; audit--) {
      const begin = random() * (run - 2 * SECOND);
      for (let w = 0; w < count; w++) hits[w]?.push([begin + 2 * MS * w, OP.load]);
    }
    return one("runtime", traces(hits, run), { run_ns: run });
  },
};
