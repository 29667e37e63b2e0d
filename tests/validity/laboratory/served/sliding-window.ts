/** Rows that a window of steps reads. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { MS, SECOND, traces } from "../shapes.ts";
import { between, inside, part, type Step, table, US, whole, world } from "./parts.ts";

export const slidingWindow: WorldKind = {
  name: "rows read in the next 150 steps and rewritten after 600, others for good, steps that get 4 times slower",
  make: (random) => {
    const run = 20 * SECOND;
    const [ring, window, blocks, sinks] = [600, 150, 220, 4];
    const local = table(ring);
    const whole16 = table(blocks);
    const scratch = table(60);
    const steps: Step[] = [];
    const phase = 2 * Math.PI * random();
    const begun = whole(random, ring);
    let now = -5 * MS * random();
    for (let i = 0; now < run; i++) {
      // It gets hot, and its fans come and go.
      const slow = 1 + (3 * Math.max(0, now)) / run + 0.25 * Math.sin(phase + now / (1.1 * SECOND));
      const length = 5.5 * MS * slow * between(random, 0.95, 1.05);
      local[(begun + i) % ring]?.push([now + 0.1 * length, OP.store]);
      for (let back = 0; back < window; back++)
        local[(begun + i + ring - back) % ring]?.push([now + 0.2 * length + back * US, OP.load]);
      const filled = Math.min(blocks - 1, 90 + Math.floor(i / 16));
      whole16[filled]?.push([now + 0.5 * length, OP.store]);
      for (let b = 0; b <= filled; b++) {
        whole16[b]?.push([now + 0.6 * length + b * US, OP.load]);
        if (b < sinks) whole16[b]?.push([now + 0.25 * length + b * US, OP.load]);
      }
      scratch.forEach((hits, w) => {
        hits.push([now + length * (0.05 + 0.013 * w), OP.store], [now + length * (0.09 + 0.013 * w), OP.load]);
      });
      steps.push({ step: "decode", begin_ns: now, end_ns: now + length, n_tokens: 1 });
      now += length + 0.05 * MS;
    }
    return world(
      run,
      [
        part("kv_cache", "local", traces(local, run), { repeats: 4 }),
        part("kv_cache", "whole", traces(whole16), { repeats: 90 }),
        part("activation", "scratch", traces(scratch, run)),
      ],
      { steps: inside(steps, run), token_period_ns: 12 * MS },
    );
  },
};
