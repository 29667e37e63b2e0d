/** A model too large for its memory: layers are copied in ahead of their use and freed after it. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between } from "../served/parts.ts";
import { MS, SECOND } from "../shapes.ts";
import { load, perWord, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { inStep, lengthOf, stepsOver } from "./steps.ts";

const LAYERS = 8;

export const streamedLayers: WorldKind = {
  name: "8 layers loaded ahead of their use in steps of 0.3 to 2 s and freed after it, beside embeddings for good, 30 s",
  make: (random) => {
    const run = 30 * SECOND;
    const heap = heapOver(run);
    const steps = stepsOver(run, random, {
      isPrefill: (i) => i % 12 === 0,
      tokens: (i) => (i % 12 === 0 ? 200 : 4),
      length: () => between(random, 0.3, 1) ** 1.5 * 2 * SECOND,
      gap: () => (random() < 0.2 ? 0.8 * random() : 0.002) * SECOND,
    });
    for (const step of steps) {
      const span = lengthOf(step) / LAYERS;
      for (let layer = 0; layer < LAYERS; layer++) {
        const use = step.begin_ns + layer * span;
        // No layer runs before the first one, during which it could be loaded.
        const [born, loading] = layer === 0 ? [use, 0.1] : [use - 0.9 * span, 0.8];
        const words = perWord(60, (word) => [
          store(born + loading * span * (word / 60) + 0.01 * MS),
          ...[0, 1, 2, 3].map((k) => load(use + span * (0.2 + 0.19 * k + 0.15 * (word / 60)))),
        ]);
        heap.lives("weight", "streamed", [born, use + span + 0.1 * MS], words);
      }
    }
    const embedding = perWord(120, (word) =>
      steps.flatMap((step) => (random() < 0.3 ? [load(inStep(step, 0.03 + 0.002 * (word % 10)))] : [])),
    );
    const head = perWord(120, (word) => steps.map((step) => load(inStep(step, 0.95 + 0.0003 * word))));
    const hidden = perWord(100, (word) =>
      steps.flatMap((step) =>
        Array.from({ length: LAYERS }, (_, layer) => [
          store(inStep(step, (layer + 0.3) / LAYERS)),
          load(inStep(step, (layer + 0.3 + 0.003 * word) / LAYERS) + 0.2 * MS),
        ]).flat(),
      ),
    );
    heap.stays("weight", "embedding", embedding);
    heap.stays("weight", "head", head);
    heap.stays("activation", "hidden", hidden);
    return heap.world(steps);
  },
};
