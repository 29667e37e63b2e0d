/** Counters beside a log that is hardly read. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { exponential, type Hit, MS, SECOND, timesFrom, trace, traces, words } from "../shapes.ts";
import { part, table, US, world } from "./parts.ts";

export const observed: WorldKind = {
  name: "counters added to by rank and read every 5 s, beside a log of 1000 times their size that is hardly read, 35 s",
  make: (random) => {
    const run = 35 * SECOND;
    const [lines, wide] = [250, 8];
    const scrape = 5 * SECOND * random();
    const counters = words((rank) => {
      const mean = 1.5 * MS * (rank + 1) ** 1.1;
      return trace(
        [
          ...timesFrom(mean * exponential(random), run, () => 3 * US + mean * exponential(random)).map(
            (time): Hit => [time, OP.load_store],
          ),
          ...timesFrom(scrape, run, () => 5 * SECOND).map((time): Hit => [time + rank * 7 * US, OP.load]),
        ],
        run,
      );
    }, 300);
    const storms = Array.from({ length: 3 }, () => run * random());
    const isStorm = (time: number): boolean => storms.some((from) => time >= from && time < from + 400 * MS);
    const log = table(lines * wide);
    let line = 0;
    let flush = SECOND * random();
    let unread: number[] = [];
    for (let now = 0; now < run; now += (SECOND / (isStorm(now) ? 6000 : 300)) * exponential(random)) {
      for (; flush < now; flush += SECOND) {
        // Only what begins with a warning is looked at again.
        for (const [k, which] of [...new Set(unread)].entries())
          for (let w = 0; w < (which % 3 === 0 ? wide : 1); w++)
            log[which * wide + w]?.push([flush + k * 4 * US + w * 0.3 * US, OP.load]);
        unread = [];
      }
      for (let w = 0; w < wide; w++) log[line * wide + w]?.push([now + w * 0.2 * US, OP.store]);
      unread.push(line);
      line = (line + 1) % lines;
    }
    return world(run, [
      part("runtime", "counters", counters),
      part("unknown", "log", traces(log, run), { repeats: 150 }),
    ]);
  },
};
