/** Outputs of layers that an allocator frees as soon as the next layer has read them. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { lognormal } from "../practised/pieces.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { inStep, lengthOf, stepsOver } from "./steps.ts";

const LAYERS = 10;

export const layerOutputs: WorldKind = {
  name: "outputs of 10 layers, each there for 1.3 layers of a step of 40 to 200 ms, beside a workspace for good, 20 s",
  make: (random) => {
    const run = 20 * SECOND;
    const heap = heapOver(run);
    const steps = stepsOver(run, random, {
      isPrefill: (i) => i % 9 === 0,
      tokens: (i) => (i % 9 === 0 ? 64 : 1 + (i % 3)),
      length: () => Math.min(400, lognormal(random, 80, 0.5)) * MS,
      gap: () => (random() < 0.15 ? 120 * exponential(random) : 0.5) * MS,
    });
    for (const step of steps) {
      const span = lengthOf(step) / LAYERS;
      for (let layer = 0; layer < LAYERS; layer++) {
        const born = step.begin_ns + layer * span;
        const words = perWord(30, (word) => {
          const written = born + (0.02 + 0.6 * (word / 30)) * span;
          return [store(written), ...[1, 2, 3].map((k) => load(written + 0.09 * k * span))];
        });
        heap.lives("activation", "hidden", [born, Math.min(step.end_ns, born + 1.3 * span)], words);
      }
    }
    const workspace = perWord(90, (word) => {
      const share = 0.9 * (word / 90);
      return steps.flatMap((step) => [store(inStep(step, share)), load(inStep(step, share + 0.05))]);
    });
    heap.stays("activation", "workspace", workspace);
    heap.stays("weight", "layers", readInEach(random, steps, 200), 40);
    return heap.world(steps);
  },
};
