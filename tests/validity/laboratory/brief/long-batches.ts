/** Batches that nobody waits for: long steps of very uneven length, with ten lives of scratch memory in each. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { lognormal } from "../practised/pieces.ts";
import type { Step } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, store } from "./accesses.ts";
import { type Heap, heapOver } from "./heap.ts";
import { inStep, lengthOf, stepsOver } from "./steps.ts";

const LIVES = 10;
const WORDS = 36;

/** Scratch memory, of which each life is used mostly when it is new or mostly when it is old. */
function scratch(heap: Heap, random: Random, step: Step): void {
  const length = lengthOf(step) / LIVES;
  for (let life = 0; life < LIVES; life++) {
    const born = step.begin_ns + life * length;
    const uses = Math.min(60, Math.ceil(lognormal(random, 4, 1.1)));
    const isEarly = random() < 0.5;
    const words = perWord(WORDS, (word) =>
      Array.from({ length: uses }, (_, k) => {
        const share = ((k + 0.5 + 0.2 * (word / WORDS)) / uses) ** 2;
        const time = born + length * (0.01 + 0.9 * (isEarly ? share : 1 - share));
        const isFirst = k === (isEarly ? 0 : uses - 1);
        return isFirst || k % 5 === 4 ? store(time) : load(time);
      }),
    );
    heap.lives("activation", "scratch", [born, born + 0.95 * length], words);
  }
}

export const longBatches: WorldKind = {
  name: "steps of 0.2 to 3 s with ten lives of scratch memory in each, used unevenly, beside rows that stay for 8 steps, 30 s",
  make: (random) => {
    const run = 30 * SECOND;
    const heap = heapOver(run);
    const steps = stepsOver(run, random, {
      isPrefill: (i) => i % 7 === 3,
      tokens: (i) => (i % 7 === 3 ? 256 : 8),
      length: () => Math.min(3, lognormal(random, 0.6, 0.6)) * SECOND,
      gap: () => (random() < 0.3 ? 0.5 * exponential(random) : 0.01) * SECOND,
    });
    for (const step of steps) if (step.end_ns > 0) scratch(heap, random, step);
    const carried = perWord(100, (word) =>
      steps.flatMap((step) => [load(inStep(step, 0.01 + 0.001 * word)), store(inStep(step, 0.98))]),
    );
    heap.stays("activation", "carried", carried);
    steps.forEach((step, i) => {
      if (step.end_ns <= 0) return;
      const later = steps.slice(i + 1, i + 9);
      const rows = perWord(30, (word) => [
        store(inStep(step, 0.1 + 0.02 * word)),
        ...later.map((one) => load(inStep(one, 0.1 + 0.02 * word))),
      ]);
      heap.lives("kv_cache", "rows", [step.begin_ns, (later.at(-1) ?? step).end_ns + 5 * MS], rows);
    });
    return heap.world(steps);
  },
};
