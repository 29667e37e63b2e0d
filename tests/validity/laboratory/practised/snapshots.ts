/** A table that is saved while it is written. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, part, table, US, world } from "../served/parts.ts";
import { exponential, SECOND, traces } from "../shapes.ts";
import type { Span } from "./pieces.ts";

export const snapshots: WorldKind = {
  name: "a table saved every 3 to 6 s from front to back, pages copied when they are written meanwhile, 30 s",
  make: (random) => {
    const [run, count] = [30 * SECOND, 400];
    const live = table(count);
    const copies = table(count);
    const saves: Span[] = [];
    for (let t = 2 * SECOND * random(); t < run; t += between(random, 3, 6) * SECOND)
      saves.push([t, between(random, 1, 2.5) * SECOND]);
    const firstWrites = saves.map(() => new Map<number, number>());
    const ranks = Array.from({ length: count }, () => random());
    ranks.forEach((rank, w) => {
      const rate = 2.2 * (rank + 1 / count) ** -0.7;
      for (let t = (SECOND / rate) * exponential(random); t < run; t += (SECOND / rate) * exponential(random)) {
        live[w]?.push([t, OP.store]);
        saves.forEach(([begin, length], s) => {
          const seen = firstWrites[s];
          if (t < begin || t > begin + length || seen === undefined || seen.has(w)) return;
          seen.set(w, t);
        });
      }
      for (
        let t = (SECOND / (3 * rate)) * exponential(random);
        t < run;
        t += (SECOND / (3 * rate)) * exponential(random)
      )
        live[w]?.push([t, OP.load]);
    });
    saves.forEach(([begin, length], s) => {
      for (let w = 0; w < count; w++) {
        const saved = begin + (w / count) * length;
        const written = firstWrites[s]?.get(w);
        if (written === undefined || written > saved) live[w]?.push([saved, OP.load]);
        if (written === undefined) continue;
        live[w]?.push([written - 3 * US, OP.load]);
        copies[w]?.push([written - 2 * US, OP.store]);
        if (written <= saved) copies[w]?.push([saved, OP.load]);
      }
    });
    return world(run, [
      part("runtime", "live", traces(live, run), { repeats: 40 }),
      part("runtime", "copies", traces(copies, run), { repeats: 10 }),
    ]);
  },
};
