/** Experts that are read by topic. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { normalDraw } from "../../../../src/statistics/normal.ts";
import { exponential, loads, MS, SECOND, traces, words } from "../shapes.ts";
import { between, inside, part, type Step, table, US, world } from "./parts.ts";

export const experts: WorldKind = {
  name: "64 experts, some 7 of them read in each step by a taste that turns with the topic, a run of 6 s",
  make: (random) => {
    const run = 6 * SECOND;
    const [many, perExpert] = [64, 30];
    const list = table(many * perExpert);
    const steps: Step[] = [];
    const drawTaste = (): number[] => Array.from({ length: many }, () => 1.6 * normalDraw(random));
    let taste = drawTaste();
    let turn = 1.3 * SECOND * exponential(random);
    for (let now = -7 * MS * random(); now < run; ) {
      if (now > turn) {
        taste = drawTaste();
        turn = now + 1.3 * SECOND * exponential(random);
      }
      const length = between(random, 6.3, 7.7) * MS;
      const chosen = new Set<number>();
      for (let token = 0; token < 4; token++) {
        const scores = taste.map((liking, expert) => [liking - Math.log(exponential(random) + 1e-12), expert] as const);
        for (const [, expert] of scores.sort((a, b) => b[0] - a[0]).slice(0, 2)) chosen.add(expert);
      }
      [...chosen]
        .sort((a, b) => a - b)
        .forEach((expert, k) => {
          const from = now + length * (0.2 + (0.75 * k) / chosen.size);
          for (let w = 0; w < perExpert; w++) list[expert * perExpert + w]?.push([from + w * 12 * US, OP.load]);
        });
      steps.push({ step: "decode", begin_ns: now, end_ns: now + length, n_tokens: 4 });
      now += length + 0.05 * MS;
    }
    const router = words(() => {
      const place = 0.8 * MS * random();
      return loads(
        steps.map(({ begin_ns }) => begin_ns + place),
        run,
      );
    }, 30);
    return world(
      run,
      [part("weight", "experts", traces(list, run), { repeats: 60 }), part("weight", "router", router)],
      { steps: inside(steps, run), token_period_ns: 7 * MS },
    );
  },
};
