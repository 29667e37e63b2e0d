/** Accesses that bring other accesses. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { table, whole } from "../served/parts.ts";
import { exponential, MS, one, SECOND, traces } from "../shapes.ts";
import { poisson } from "./pieces.ts";

export const contagious: WorldKind = {
  name: "accesses that bring others, here and at near addresses, at once or much later, 9 for each of their own, 20 s",
  make: (random) => {
    const [run, count, before] = [20 * SECOND, 500, 4 * SECOND];
    const hits = table(count);
    const queue: (readonly [time: number, word: number])[] = [];
    for (let t = -before; t < run; t += (SECOND / (3 * count)) * exponential(random))
      queue.push([t, whole(random, count)]);
    for (let next = queue.pop(), made = 0; next !== undefined; next = queue.pop()) {
      const [time, word] = next;
      hits[word]?.push([time, random() < 0.12 ? OP.store : OP.load]);
      made += 1;
      if (made > 1_500_000) continue;
      // An access has 0.9 children in the mean. Their number has a heavy tail, and so have their delays.
      const fertility = Math.min(200, 0.385 * (1 - random()) ** (-1 / 1.6));
      for (let left = poisson(random, 0.9 * fertility); left > 0; left--) {
        const moment = time + 2 * MS * ((1 - random()) ** (-1 / 0.7) - 1);
        const near = word + Math.round(2 * exponential(random) * (random() < 0.5 ? -1 : 1));
        if (moment < run) queue.push([moment, (near + count) % count]);
      }
    }
    return one("runtime", traces(hits, run), { run_ns: run });
  },
};
