/** A search with several beams that fork. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { inside, part, type Step, table, US, whole, world } from "../served/parts.ts";
import { exponential, MS, SECOND, traces } from "../shapes.ts";
import { lognormal, type Span, swept } from "./pieces.ts";

export const beams: WorldKind = {
  name: "a search with 5 beams that fork at hard tokens, whose rows are copied from where they part, 20 s",
  make: (random) => {
    const [run, width, blocks, perBlock] = [20 * SECOND, 5, 60, 6];
    const steps: Step[] = [];
    const spans: Span[] = [];
    const rows = table(width * blocks);
    const scores = table(50);
    for (let now = -2 * SECOND * random(); now < run; now += 200 * MS * exponential(random)) {
      const asked = 3 + whole(random, 20);
      const prompt = asked * 9 * MS;
      steps.push({ step: "prefill", begin_ns: now, end_ns: now + prompt, n_tokens: asked * perBlock });
      spans.push([now, prompt]);
      for (let b = 0; b < asked; b++)
        for (let k = 0; k < width; k++) rows[k * blocks + b]?.push([now + 9 * MS * (b + 0.8) + k * 3 * US, OP.store]);
      now += prompt + 0.1 * MS;
      const most = (blocks - asked) * perBlock;
      const answer = Math.min(most, Math.ceil(lognormal(random, 130, 0.7)));
      let hard = 0.1;
      for (let age = 0; age < answer; age++) {
        if (random() < 0.04) hard = random() ** 3;
        const top = asked + Math.floor(age / perBlock);
        const forks: [source: number, copy: number, first: number][] = [];
        while (forks.length < width - 1 && random() < hard)
          forks.push([
            whole(random, width),
            whole(random, width),
            Math.max(asked, top - Math.floor(exponential(random) * 4)),
          ]);
        const length = (9 + 0.06 * top) * MS * lognormal(random, 1, 0.05) + forks.length * 1.5 * MS;
        steps.push({ step: "decode", begin_ns: now, end_ns: now + length, n_tokens: width });
        spans.push([now, length]);
        forks.forEach(([source, copy, first], f) => {
          if (source === copy) return;
          for (let b = first; b <= top; b++) {
            const moment = now + 0.1 * MS + f * 1.2 * MS + b * 15 * US;
            rows[source * blocks + b]?.push([moment, OP.load]);
            rows[copy * blocks + b]?.push([moment + 3 * US, OP.store]);
          }
        });
        const read = now + forks.length * 1.5 * MS + 2 * MS;
        for (let k = 0; k < width; k++) {
          rows[k * blocks + top]?.push([read - 0.3 * MS, OP.store]);
          for (let b = 0; b <= top; b++) rows[k * blocks + b]?.push([read + k * MS + b * 8 * US, OP.load]);
        }
        scores.forEach((hits, w) => {
          hits.push([now + length - 0.9 * MS + w * 4 * US, OP.store], [now + length - 0.5 * MS + w * 2 * US, OP.load]);
          if (forks.length > 0) hits.push([now + length - 0.2 * MS, OP.load]);
        });
        now += length + 0.1 * MS;
      }
    }
    return world(
      run,
      [
        part("weight", "all", swept(random, spans, 260, run), { repeats: 250 }),
        part("kv_cache", "rows", traces(rows, run), { repeats: 12 }),
        part("activation", "scores", traces(scores, run)),
      ],
      { steps: inside(steps, run), token_period_ns: 12 * MS },
    );
  },
};
