/** Sequences that are put aside: their blocks are copied out and freed, and come back all at once. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { US, whole } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { geometric, inStep, isDecode, stepsOver } from "./steps.ts";

const SEQUENCES = 10;

export const preemptedSequences: WorldKind = {
  name: "10 sequences whose blocks are freed for some steps of 15 to 70 ms and come back at once, read in each step meanwhile, 24 s",
  make: (random) => {
    const run = 24 * SECOND;
    const heap = heapOver(run);
    const steps = stepsOver(run, random, {
      isPrefill: (i) => i % 23 === 7,
      tokens: (i) => (i % 23 === 7 ? 128 : 4),
      length: (i) => (15 + 25 * (1 + Math.sin(i / 40)) + 10 * exponential(random)) * MS,
      gap: () => (random() < 0.04 ? 300 * random() : 0.4) * MS,
    });
    for (let sequence = 0; sequence < SEQUENCES; sequence++) {
      const count = 10 + whole(random, 50);
      for (let i = whole(random, 30); i < steps.length; ) {
        const stay = geometric(random, 25);
        const mine = steps.slice(i, i + stay);
        const [first, last] = [mine[0], mine.at(-1)];
        const share = 0.3 + 0.5 * random();
        i += stay + geometric(random, 14);
        if (first === undefined || last === undefined || last.end_ns <= 0) continue;
        // They are copied out after the last step.
        const words = perWord(count, (word) => [
          store(inStep(first, 0.02) + word * 5 * US),
          ...mine.map((step) => load(inStep(step, share) + word * 3 * US)),
          load(last.end_ns + MS + word * 5 * US),
        ]);
        heap.lives("kv_cache", "blocks", [inStep(first, 0.01), last.end_ns + 2 * MS], words);
      }
    }
    const resident = perWord(120, (word) =>
      steps.filter(isDecode).flatMap((step, i) => {
        const read = load(inStep(step, 0.2 + 0.001 * word));
        return (i + word) % 120 === 0 ? [read, store(inStep(step, 0.9))] : [read];
      }),
    );
    heap.stays("kv_cache", "resident", resident);
    return heap.world(steps);
  },
};
