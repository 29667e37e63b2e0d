/** Speech in segments: what was heard is kept for a segment, the beams of its text are gathered to new memory at each step. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, type Step, US } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { type Heap, heapOver } from "./heap.ts";
import { answered, geometric, inStep, isDecode, isPrefill, prefill } from "./steps.ts";

/** Beams that are written in each step and gathered by the next one. */
function gather(heap: Heap, steps: readonly Step[], end: number): void {
  steps.forEach((step, i) => {
    const next = steps[i + 1];
    const born = inStep(step, 0.04);
    const words = perWord(6 + Math.min(24, i >> 1), (word) => {
      const hits = [
        store(born + 0.02 * MS + word * US),
        load(inStep(step, 0.25) + word * 4 * US),
        load(inStep(step, 0.6) + word * 4 * US),
      ];
      return next === undefined ? hits : [...hits, load(inStep(next, 0.06) + word * US)];
    });
    heap.lives("kv_cache", "beams", [born, next === undefined ? end : inStep(next, 0.12)], words);
  });
}

export const gatheredBeams: WorldKind = {
  name: "speech whose sound is kept for a segment, and whose beams are gathered to new memory in each step of 8 to 20 ms, 20 s",
  make: (random) => {
    const run = 20 * SECOND;
    const heap = heapOver(run);
    const steps: Step[] = [];
    for (let now = -SECOND * random(); now < run; ) {
      const count = 10 + geometric(random, 40);
      const pace = between(random, 8, 16);
      const heard = prefill(now, now + between(random, 120, 400) * MS, 1500);
      const length = (): number => pace * between(random, 0.95, 1.25) * MS;
      const after = answered(heard, count, { gap: 0.3 * MS, length, tokens: 5 });
      const end = after.end + 0.3 * MS;
      const cross = perWord(120, (word) => [
        store(inStep(heard, 0.86 + 0.001 * word)),
        ...after.decodes.map((step) => load(inStep(step, 0.4) + word * 4 * US)),
      ]);
      heap.lives("kv_cache", "cross", [inStep(heard, 0.85), end], cross);
      gather(heap, after.decodes, end);
      steps.push(heard, ...after.decodes);
      now = end + (random() < 0.3 ? 1.5 * exponential(random) * SECOND : 3 * MS);
    }
    heap.stays("weight", "decoder", readInEach(random, steps.filter(isDecode), 160), 20);
    const encoder = perWord(160, () => {
      const share = 0.95 * random();
      return steps.filter(isPrefill).map((step) => load(inStep(step, share)));
    });
    heap.stays("weight", "encoder", encoder, 20);
    return heap.world(steps);
  },
};
