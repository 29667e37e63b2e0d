/** Prefixes that requests share, kept while they are asked for. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { exponential, MS, SECOND, traces } from "../shapes.ts";
import { part, table, US, whole, world } from "./parts.ts";

export const prefixCache: WorldKind = {
  name: "40 shared prefixes, asked for by rank, dropped when unused for 3 s, beside the tails of requests",
  make: (random) => {
    const run = 25 * SECOND;
    const [prefixes, blocks, slots, tailBlocks] = [40, 25, 16, 25];
    const shared = table(prefixes * blocks);
    const tails = table(slots * tailBlocks);
    const tree = table(prefixes * 3 + 1);
    const sizes = Array.from({ length: prefixes }, () => 5 + whole(random, blocks - 5));
    const lastUse = Array.from({ length: prefixes }, () => (random() < 0.5 ? -SECOND * random() : -10 * SECOND));
    const sumOfRanks = sizes.reduce((sum, _, rank) => sum + 1 / (rank + 1), 0);
    const drawPrefix = (): number => {
      let left = random() * sumOfRanks;
      for (let rank = 0; rank < prefixes; rank++) {
        left -= 1 / (rank + 1);
        if (left < 0) return rank;
      }
      return prefixes - 1;
    };
    const active: ({ prefix: number; age: number; until: number } | null)[] = Array.from({ length: slots }, () => null);
    let arrival = 250 * MS * exponential(random);
    for (let now = -18 * MS * random(); now < run; now += 18 * MS * (0.92 + 0.16 * random())) {
      for (; arrival < now; arrival += 250 * MS * exponential(random)) {
        const free = active.indexOf(null);
        const prefix = drawPrefix();
        for (const [k, node] of [0, 1 + 3 * prefix, 2 + 3 * prefix, 3 + 3 * prefix].entries()) {
          tree[node]?.push([arrival + 2 * k * US, OP.load], [arrival + (20 + 2 * k) * US, OP.load_store]);
        }
        if (free < 0) continue;
        if (now - (lastUse[prefix] ?? 0) > 3 * SECOND) {
          for (let b = 0; b < (sizes[prefix] ?? 0); b++)
            shared[prefix * blocks + b]?.push([now + b * 60 * US, OP.store]);
        }
        active[free] = { prefix, age: 0, until: 20 + Math.floor(55 * exponential(random)) };
      }
      active.forEach((request, slot) => {
        if (request === null) return;
        const from = now + 3 * MS + slot * 0.8 * MS;
        for (let b = 0; b < (sizes[request.prefix] ?? 0); b++)
          shared[request.prefix * blocks + b]?.push([from + b * 10 * US, OP.load]);
        lastUse[request.prefix] = now;
        const filled = Math.min(tailBlocks - 1, request.age >> 2);
        tails[slot * tailBlocks + filled]?.push([from + 300 * US, OP.store]);
        for (let b = 0; b <= filled; b++) tails[slot * tailBlocks + b]?.push([from + (400 + 10 * b) * US, OP.load]);
        request.age += 1;
        if (request.age >= request.until) active[slot] = null;
      });
    }
    return world(run, [
      part("kv_cache", "shared", traces(shared, run), { repeats: 20 }),
      part("kv_cache", "tails", traces(tails, run), { repeats: 20 }),
      part("runtime", "tree", traces(tree, run)),
    ]);
  },
};
