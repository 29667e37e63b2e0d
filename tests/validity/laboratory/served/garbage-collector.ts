/** A collector of garbage with a nursery and an old half. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import { exponential, type Hit, MS, SECOND, timesFrom, trace, traces, words } from "../shapes.ts";
import { between, drift, part, table, US, whole, world } from "./parts.ts";

export const collector: WorldKind = {
  name: "a nursery filled from end to end, an old half marked and swept when it is full, a table of cards",
  make: (random) => {
    const run = 20 * SECOND;
    const [young, aged] = [400, 1200];
    const nursery = table(young);
    const old = table(aged);
    const haste = drift(random, 2000, 0.6, 40);
    let cursor = whole(random, aged);
    let promoted = whole(random, 600);
    const pauses: (readonly [number, number])[] = [];
    for (let begin = -150 * MS * random(), cycle = 0; begin < run; cycle++) {
      const length = Math.min(1.5 * SECOND, Math.max(25 * MS, 130 * MS * Math.exp(haste[cycle] ?? 0)));
      const end = begin + length;
      nursery.forEach((hits, w) => {
        const born = begin + (w / young) * length;
        hits.push([born, OP.store]);
        for (let t = born + 8 * MS * exponential(random); t < end && random() < 0.65; t += 8 * MS * exponential(random))
          hits.push([t, random() < 0.2 ? OP.store : OP.load]);
        if (random() > 0.08) return;
        // What is still needed is copied out of the nursery.
        hits.push([end + (w / young) * 2 * MS + 10 * US, OP.load]);
        old[cursor]?.push([end + (w / young) * 2 * MS + 11 * US, OP.store]);
        cursor = (cursor + 1) % aged;
        promoted += 1;
      });
      let over = end + 2.5 * MS;
      if (promoted > 700) {
        const mark = between(random, 350, 600) * MS;
        for (const hits of old) {
          const place = over + mark * random();
          hits.push([place, OP.load]);
          if (random() < 0.4) hits.push([place + 30 * US, OP.load_store]);
        }
        old.forEach((hits, w) => {
          hits.push([over + mark + MS + (w / aged) * 90 * MS, OP.load]);
        });
        promoted = 0;
        over += mark + 95 * MS;
      }
      pauses.push([end, over]);
      begin = over;
    }
    const isPaused = (time: number): boolean => pauses.some(([from, end]) => time >= from && time < end);
    for (const hits of old) {
      const mean = 350 * MS * Math.exp(0.8 * normalDraw(random));
      for (const time of timesFrom(mean * random(), run, () => 0.01 * MS + mean * exponential(random)))
        if (!isPaused(time)) hits.push([time, OP.load]);
    }
    const cards = words(
      () =>
        trace(
          timesFrom(6 * MS * random(), run, () => 5 * US + 6 * MS * exponential(random)).flatMap((time): Hit[] =>
            isPaused(time) ? [] : [[time, OP.store]],
          ),
          run,
        ),
      40,
    );
    return world(run, [
      part("runtime", "nursery", traces(nursery, run)),
      part("runtime", "old", traces(old, run), { repeats: 15 }),
      part("runtime", "cards", cards),
    ]);
  },
};
