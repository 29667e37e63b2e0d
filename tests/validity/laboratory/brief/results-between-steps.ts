/** Results that live from the end of a step to the next, while a client thinks. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, US } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { inStep, stepsOver } from "./steps.ts";

export const resultsBetweenSteps: WorldKind = {
  name: "results that live from the end of a step of 5 to 30 ms through an idle time to the next, used when they come and go, 22 s",
  make: (random) => {
    const run = 22 * SECOND;
    const heap = heapOver(run);
    const steps = stepsOver(run, random, {
      isPrefill: (i) => i % 15 === 0,
      tokens: (i) => (i % 15 === 0 ? 40 : 1),
      length: (i) => (i % 15 === 0 ? between(random, 50, 150) : between(random, 5, 30)) * MS,
      gap: () => (random() < 0.7 ? 10 + 60 * exponential(random) : 0.3) * MS,
    });
    steps.forEach((step, i) => {
      const next = steps[i + 1];
      if (next === undefined || next.begin_ns <= 0) return;
      const [born, freed] = [inStep(step, 0.9), inStep(next, 0.3)];
      const logits = perWord(40, (word) => [
        store(born + 0.02 * MS + 1.5 * US * word),
        load(born + 0.3 * MS + 1.5 * US * word),
        load(freed - 0.6 * MS + 1.5 * US * word),
        load(freed - 0.3 * MS + 1.5 * US * word),
      ]);
      heap.lives("activation", "logits", [born, freed], logits);
      const inner = perWord(30, (word) => {
        const hits = [store(inStep(step, 0.31 + 0.003 * word)), load(inStep(step, 0.45 + 0.003 * word))];
        return word % 3 === 0 ? [...hits, load(inStep(step, 0.59))] : hits;
      });
      heap.lives("activation", "inner", [inStep(step, 0.3), inStep(step, 0.6)], inner);
    });
    const state = perWord(60, (word) =>
      steps.flatMap((step) => [load(inStep(step, 0.1 + 0.01 * word)), store(inStep(step, 0.2 + 0.01 * word))]),
    );
    heap.stays("activation", "state", state);
    heap.stays("weight", "layers", readInEach(random, steps, 160), 10);
    return heap.world(steps);
  },
};
