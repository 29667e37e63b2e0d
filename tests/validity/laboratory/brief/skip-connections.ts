/** Pictures made by a net whose outputs on the way down are needed again on the way up. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, type Step, US, whole } from "../served/parts.ts";
import { type Hit, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { type Heap, heapOver } from "./heap.ts";
import { answered, inStep, lengthOf, prefill } from "./steps.ts";

const DEPTH = 8;

/** What a step keeps from the way down to the way up, first in and last out. */
function keepSkips(heap: Heap, step: Step): void {
  const length = lengthOf(step);
  for (let level = 0; level < DEPTH; level++) {
    const born = step.begin_ns + ((0.45 * level) / DEPTH) * length;
    const needed = step.end_ns - ((0.5 * (level + 1)) / DEPTH) * length;
    const words = perWord(30, (word) => [
      store(born + 0.02 * length),
      load(born + 0.03 * length + word * 20 * US),
      load(born + 0.045 * length + word * 20 * US),
      load(needed + 0.01 * length + word * 30 * US),
      load(needed + 0.03 * length + word * 30 * US),
    ]);
    heap.lives("activation", "skips", [born, needed + 0.05 * length], words);
  }
}

export const skipConnections: WorldKind = {
  name: "pictures in 6 to 15 steps of 0.3 to 0.7 s, each of which keeps outputs from its way down to its way up, 28 s",
  make: (random) => {
    const run = 28 * SECOND;
    const heap = heapOver(run);
    const steps: Step[] = [];
    for (let now = -2 * SECOND * random(); now < run; ) {
      const begin = now;
      const count = 6 + whole(random, 10);
      const pace = between(random, 0.3, 0.7) * SECOND;
      const text = prefill(begin, begin + 0.12 * SECOND, 77);
      const { decodes, end } = answered(text, count, { gap: MS, length: () => pace * between(random, 0.97, 1.05) });
      for (const step of decodes) keepSkips(heap, step);
      // The picture is decoded after the last step.
      const done = end + 0.4 * SECOND;
      const latents = perWord(60, (word) => [
        store(begin + 0.1 * SECOND),
        ...decodes.flatMap((step) => [
          load(inStep(step, 0.01) + word * 20 * US),
          load(inStep(step, 0.97) + word * 20 * US),
          store(inStep(step, 0.98) + word * 20 * US),
        ]),
        ...Array.from({ length: 6 }, (_, k) => load(end + (0.05 + 0.06 * k) * SECOND)),
      ]);
      heap.lives("activation", "latents", [begin, done], latents);
      const picture = perWord(60, (word) =>
        Array.from({ length: 10 }, (_, k): Hit => {
          const time = end + (0.03 + 0.03 * k) * SECOND + word * 10 * US;
          return [time, k % 2 === 0 ? OP.store : OP.load];
        }),
      );
      heap.lives("activation", "picture", [end, done], picture);
      steps.push(text, ...decodes);
      now = done + (random() < 0.4 ? 2.5 * random() * SECOND : 5 * MS);
    }
    heap.stays("weight", "unet", readInEach(random, steps, 200), 60);
    return heap.world(steps);
  },
};
