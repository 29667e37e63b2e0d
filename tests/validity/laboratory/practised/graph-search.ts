/** A graph that is searched in waves. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { part, table, US, world } from "../served/parts.ts";
import { exponential, MS, SECOND, traces } from "../shapes.ts";
import { lognormal, poisson } from "./pieces.ts";

export const graph: WorldKind = {
  name: "a graph by falling degree, searched in waves from random roots that grow and ebb away, 12 s",
  make: (random) => {
    const [run, count] = [12 * SECOND, 1000];
    const degrees = Array.from({ length: count }, (_, w) => 0.35 * ((w + 1) / count) ** -0.65);
    const edges = table(count);
    const visited = table(count);
    for (let now = -50 * MS * random(); now < run; now += 40 * MS * exponential(random)) {
      const shape = [0.002, 0.04, 0.4, 0.9, 0.2, 0.02].map((share) => Math.min(1, lognormal(random, share, 0.4)));
      const seen = new Set<number>();
      for (const share of shape) {
        const length = (1 + 60 * share) * MS;
        degrees.forEach((degree, w) => {
          const reads = poisson(random, share * degree);
          for (let k = 0; k < reads; k++) edges[w]?.push([now + length * random(), OP.load]);
          if (reads === 0) return;
          const moment = now + length * (w / count);
          visited[w]?.push([moment, OP.load]);
          if (!seen.has(w)) visited[w]?.push([moment + 5 * US, OP.store]);
          seen.add(w);
        });
        now += length;
      }
    }
    return world(run, [
      part("weight", "edges", traces(edges, run), { repeats: 60 }),
      part("runtime", "visited", traces(visited, run), { repeats: 4 }),
    ]);
  },
};
