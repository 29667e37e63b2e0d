/** Messages that are read once. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import { exponential, type Hit, MS, SECOND, trace, words } from "../shapes.ts";
import { drift, part, US, world } from "./parts.ts";

export const mailboxes: WorldKind = {
  name: "64 messages of 16 words, each read once after a delay that drifts with the load of the reader, 40 s",
  make: (random) => {
    const run = 40 * SECOND;
    const grid = 50 * MS;
    const load = drift(random, run / grid + 1, 1.3, 50);
    const messages = Array.from({ length: 64 }, (): Hit[] => {
      const hits: Hit[] = [];
      for (let t = -120 * MS * random(); t < run; t += 0.2 * MS + 110 * MS * exponential(random)) {
        hits.push([t, OP.store]);
        const backlog = load[Math.max(0, Math.floor(t / grid))] ?? 0;
        t += Math.min(5 * SECOND, 4 * MS * Math.exp(backlog + 0.7 * normalDraw(random)));
        hits.push([t, OP.load]);
      }
      return hits;
    });
    const list = words(
      (word) =>
        trace(
          (messages[word >> 4] ?? []).map(([time, op]): Hit => [time + (word & 15) * US, op]),
          run,
        ),
      1024,
    );
    return world(run, [part("unknown", "mailboxes", list)]);
  },
};
