/** A library that copies the cache of each layer to new memory at each step, to append a row to it. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, type Step, US, whole } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { answered, geometric, inStep, lengthOf, prefill } from "./steps.ts";

const LAYERS = 6;

export const copiedCaches: WorldKind = {
  name: "the cache of each of 6 layers copied to new memory with one row more in each step of 30 to 120 ms, 24 s",
  make: (random) => {
    const run = 24 * SECOND;
    const heap = heapOver(run);
    const steps: Step[] = [];
    for (let now = -random() * SECOND; now < run; ) {
      const answer = geometric(random, 25);
      const prompt = 8 + whole(random, 16);
      const first = prefill(now, now + between(random, 80, 300) * MS, prompt);
      const pace = between(random, 30, 90);
      const length = (): number => pace * between(random, 0.9, 1.4) * MS;
      const after = answered(first, answer, { gap: 0.5 * MS, length });
      const mine = [first, ...after.decodes];
      const end = after.end + 0.2 * MS;
      for (let layer = 0; layer < LAYERS; layer++) {
        const turn = (layer + 0.3) / LAYERS;
        mine.forEach((step, i) => {
          const next = mine[i + 1];
          const born = inStep(step, turn);
          const span = lengthOf(step) / LAYERS;
          const rows = prompt + i;
          const copied = next === undefined ? end - 0.1 * MS : inStep(next, turn);
          const words = perWord(rows, (word) => {
            const late = 1.5 * US * word;
            const hits = [store(born + 0.02 * MS + late), load(born + 0.4 * span + late)];
            return next === undefined ? hits : [...hits, load(copied + 0.02 * MS + late)];
          });
          const freed = Math.min(end, copied + 0.05 * MS + 1.5 * US * rows);
          heap.lives("kv_cache", "layers", [born, freed], words);
        });
      }
      steps.push(...mine);
      now = end + (random() < 0.5 ? 0.05 : 1.2) * exponential(random) * SECOND;
    }
    heap.stays("weight", "layers", readInEach(random, steps, 240), 100);
    const fixed = perWord(30, () => {
      const share = random() * 0.9;
      return steps.map((step) => load(inStep(step, share)));
    });
    heap.stays("kv_cache", "static", fixed);
    return heap.world(steps);
  },
};
