/** Answers and training on them, by turns. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, inside, part, type Step, table, US, whole, world } from "../served/parts.ts";
import { MS, SECOND, traces } from "../shapes.ts";
import { lognormal, type Span } from "./pieces.ts";

export const rollouts: WorldKind = {
  name: "answers of 24 sequences that end one after the other, then all weights learnt anew from them, by turns, 40 s",
  make: (random) => {
    const [run, sequences, rows, layers] = [40 * SECOND, 24, 12, 16];
    const steps: Step[] = [];
    const spans: Span[] = [];
    const caches = table(sequences * rows);
    const gradients = table(80);
    const weights = table(160);
    for (let now = -3 * SECOND * random(); now < run; ) {
      const prompt = between(random, 80, 200) * MS;
      steps.push({ step: "prefill", begin_ns: now, end_ns: now + prompt, n_tokens: 64 * sequences });
      spans.push([now, prompt]);
      caches.forEach((hits, c) => {
        if (c % rows < 2) hits.push([now + prompt * (0.1 + (0.8 * c) / caches.length), OP.store]);
      });
      now += prompt + 0.2 * MS;
      const ends = Array.from({ length: sequences }, () => Math.min(480, Math.ceil(lognormal(random, 130, 0.8))));
      for (let age = 0, alive = sequences; alive > 0 && now < run; age++) {
        const length = (6 + 0.25 * alive) * MS * between(random, 0.98, 1.02);
        steps.push({ step: "decode", begin_ns: now, end_ns: now + length, n_tokens: alive });
        spans.push([now, length]);
        const top = Math.min(rows - 1, 2 + Math.floor(age / 48));
        ends.forEach((end, s) => {
          if (age >= end) return;
          caches[s * rows + top]?.push([now + 0.2 * length, OP.store]);
          for (let r = 0; r <= top; r++)
            caches[s * rows + r]?.push([now + (0.3 + 0.04 * r) * length + 4 * US * s, OP.load]);
        });
        alive = ends.filter((end) => end > age + 1).length;
        now += length + 0.1 * MS;
      }
      // Some small batches go forward and backward, and the last one updates the weights.
      for (let batch = 3 + whole(random, 4); batch > 0; batch--) {
        const length = between(random, 150, 260) * MS;
        weights.forEach((hits, w) => {
          const layer = Math.floor((w / weights.length) * layers) / layers;
          const inLayer = ((w % 10) / 10) * (0.3 / layers);
          hits.push(
            [now + length * (0.35 * layer + inLayer), OP.load],
            [now + length * (0.9 - 0.5 * layer - inLayer), OP.load],
          );
          if (batch === 1) hits.push([now + length * (0.91 + 0.0005 * w), OP.load_store]);
        });
        gradients.forEach((hits, g) => {
          hits.push([now + length * (0.9 - (0.5 * g) / gradients.length), OP.load_store]);
          if (batch === 1) hits.push([now + length * (0.91 + 0.001 * g), OP.load], [now + length * 0.995, OP.store]);
        });
        now += length;
      }
      now += between(random, 5, 60) * MS;
    }
    weights.forEach((hits) => {
      const place = 0.97 * random();
      for (const [begin, length] of spans) hits.push([begin + place * length, OP.load]);
    });
    return world(
      run,
      [
        part("weight", "all", traces(weights, run), { repeats: 200 }),
        part("kv_cache", "rows", traces(caches, run), { repeats: 20 }),
        part("activation", "gradients", traces(gradients, run), { repeats: 100 }),
      ],
      { steps: inside(steps, run), token_period_ns: 9 * MS },
    );
  },
};
