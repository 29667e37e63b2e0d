/** Work that stands still for seconds, then does what waited. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import { exponential, type Hit, MS, SECOND, timesFrom, trace, words } from "../shapes.ts";
import { between, part, US, world } from "./parts.ts";

export const stall: WorldKind = {
  name: "pages read at random, nothing but polled locks for 3 to 5 s, then all that waited at once",
  make: (random) => {
    const run = 18 * SECOND;
    const grid = 2 * MS;
    const from = between(random, 5, 9) * SECOND;
    const end = from + between(random, 3, 5) * SECOND;
    const phase = random() * 2 * Math.PI;
    /** Work done by each moment of the grid, ns. */
    const done = [0];
    for (let t = 0; t < run; t += grid) {
      const usual = 1 + 0.4 * Math.sin(phase + t / (1.1 * SECOND));
      const pace = t >= from && t < end ? 0 : t < from ? usual : usual + 5 * Math.exp(-(t - end) / (0.8 * SECOND));
      done.push((done.at(-1) ?? 0) + pace * grid);
    }
    const all = done.at(-1) ?? 0;
    /** When so much was done, of ascending amounts. */
    const moments = (amounts: readonly number[]): number[] => {
      let cell = 0;
      return amounts.map((amount) => {
        while (cell < done.length - 2 && (done[cell + 1] ?? 0) <= amount) cell += 1;
        const low = done[cell] ?? 0;
        const high = done[cell + 1] ?? low;
        return grid * (cell + (high > low ? (amount - low) / (high - low) : 0));
      });
    };
    const pages = words(() => {
      const mean = 55 * MS * Math.exp(0.9 * normalDraw(random));
      const writes = random() < 0.15 ? 0.3 : 0;
      return trace(
        moments(timesFrom(mean * random(), all, () => 5 * US + mean * exponential(random))).map(
          (time): Hit => [time, random() < writes ? OP.load_store : OP.load],
        ),
        run,
      );
    }, 1500);
    const locks = words(() => {
      const taken = moments(timesFrom(5 * MS * random(), all, () => 5 * US + 5 * MS * exponential(random)));
      return trace(
        [
          ...taken.map((time): Hit => [time, OP.load_store]),
          ...timesFrom(from + MS + 5 * MS * random(), end, () => 5 * MS).map((time): Hit => [time, OP.load]),
        ],
        run,
      );
    }, 60);
    return world(run, [part("unknown", "pages", pages, { repeats: 400 }), part("runtime", "locks", locks)]);
  },
};
