/** A store that is merged part by part, beside a table of the newest. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { part, table, whole, world } from "../served/parts.ts";
import { exponential, MS, SECOND, traces } from "../shapes.ts";

export const merges: WorldKind = {
  name: "a third of a store merged by a sweep every 1.3 s amid reads by rank, beside a table of the newest that is emptied by it, 30 s",
  make: (random) => {
    const [run, count, small] = [30 * SECOND, 1200, 100];
    const store = table(count);
    const newest = table(small);
    store.forEach((hits) => {
      const rate = 2 * (random() + 1 / count) ** -0.75;
      for (let t = (SECOND / rate) * exponential(random); t < run; t += (SECOND / rate) * exponential(random))
        hits.push([t, OP.load]);
    });
    const third = count / 3;
    let merge = 1.3 * SECOND * random();
    for (let turn = whole(random, 3), from = 0; from < run; from = merge, merge += 1.3 * SECOND, turn++) {
      for (let k = 0; k < third; k++) {
        const word = store[(turn % 3) * third + k];
        const moment = merge + k * 0.9 * MS;
        word?.push([moment, OP.load], [moment + 40 * MS, OP.store]);
      }
      // The newest are filled in from front to back between two merges. The merge reads them whole.
      for (let w = 0; w < small; w++) {
        const written = from + ((merge - from) * (w + random())) / small;
        newest[w]?.push([written, OP.store], [merge + 0.9 * MS * 4 * w, OP.load]);
        const gap = 12 * MS;
        for (let t = written + gap * exponential(random); t < merge; t += gap * exponential(random))
          newest[w]?.push([t, OP.load]);
      }
    }
    return world(run, [
      part("kv_cache", "store", traces(store, run), { repeats: 200 }),
      part("activation", "newest", traces(newest, run)),
    ]);
  },
};
