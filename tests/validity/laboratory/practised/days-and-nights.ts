/** Batches that follow the hour of the day. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { drift, inside, part, type Step, table, world } from "../served/parts.ts";
import { exponential, MS, SECOND, traces } from "../shapes.ts";
import { lognormal, poisson, type Span, swept } from "./pieces.ts";

export const days: WorldKind = {
  name: "days of 9 s: batches of 0 at night to 40 at noon, a pass for each 4 sequences, so that long steps read more, 36 s",
  make: (random) => {
    const [run, day, slots, rows] = [36 * SECOND, 9 * SECOND, 40, 6];
    const steps: Step[] = [];
    const passes: Span[] = [];
    const caches = table(slots * rows);
    const scratch = table(30);
    const moods = drift(random, run / (2 * MS), 0.35, 400);
    const noon = random();
    for (let now = -20 * MS * random(), i = 0; now < run; i++) {
      const load = Math.max(0, 1 + 1.15 * Math.cos(2 * Math.PI * (now / day - noon)));
      const batch = Math.min(slots, poisson(random, 9 * load * Math.exp(moods[i] ?? 0)));
      if (batch === 0) {
        now += 30 * MS * exponential(random);
        continue;
      }
      const parts = Math.ceil(batch / 4);
      const each = lognormal(random, 5 * MS, 0.15);
      const end = now + parts * each;
      steps.push({ step: "decode", begin_ns: now, end_ns: end, n_tokens: batch });
      for (let p = 0; p < parts; p++) {
        const begin = now + p * each;
        passes.push([begin, each]);
        scratch.forEach((hits, w) => {
          const moment = begin + (0.03 * w + 0.02) * each;
          hits.push([moment, OP.store], [moment + 0.4 * MS, OP.load]);
        });
      }
      for (let s = 0; s < batch; s++)
        for (let r = 0; r < rows; r++) {
          const moment = now + Math.floor(s / 4) * each + (0.1 + 0.13 * r) * each;
          caches[s * rows + r]?.push([moment, OP.load]);
          if (random() < 0.02) caches[s * rows + r]?.push([moment - 0.2 * MS, OP.store]);
        }
      now = end + 0.1 * MS;
    }
    return world(
      run,
      [
        part("weight", "all", swept(random, passes, 130, run), { repeats: 300 }),
        part("kv_cache", "slots", traces(caches, run), { repeats: 40 }),
        part("activation", "scratch", traces(scratch, run)),
      ],
      { steps: inside(steps, run), token_period_ns: 10 * MS },
    );
  },
};
