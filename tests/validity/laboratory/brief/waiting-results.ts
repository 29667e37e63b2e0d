/** A server that encodes texts: results wait until somebody fetches them. */
import { OP } from "../../../../src/schema/operation.ts";
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, US, whole } from "../served/parts.ts";
import { exponential, type Hit, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { inStep, lengthOf, stepsOver } from "./steps.ts";

export const waitingResults: WorldKind = {
  name: "batches encoded in 20 to 150 ms, idle times between them, results that wait for up to 2 s until they are fetched, 25 s",
  make: (random) => {
    const run = 25 * SECOND;
    const heap = heapOver(run);
    const steps = stepsOver(run, random, {
      isPrefill: () => true,
      tokens: () => 32 + whole(random, 400),
      length: () => between(random, 20, 150) * MS,
      gap: () => (random() < 0.25 ? 700 * exponential(random) : random() < 0.5 ? 40 * random() : 0.5) * MS,
    });
    for (const step of steps.filter(({ end_ns }) => end_ns > 0)) {
      const { begin_ns, end_ns } = step;
      const length = lengthOf(step);
      const batch = perWord(40, (word) =>
        Array.from({ length: 8 }, (_, k): Hit => {
          const share = 0.01 + 0.15 * (k / 8) + 0.02 * (word / 40);
          return [begin_ns + length * share, k % 2 === 0 ? OP.store : OP.load];
        }),
      );
      heap.lives("activation", "batch", [begin_ns, end_ns], batch);
      const freed = Math.round(end_ns + between(random, 0.1, 2) ** 2 * 0.5 * SECOND + 2 * MS);
      const result = perWord(20, (word) => {
        const written = begin_ns + 0.92 * length + word * 2 * US;
        // What was written before the run is not fetched in it.
        return written < 0 ? [] : [store(written), load(freed - 0.5 * MS)];
      });
      heap.lives("activation", "result", [begin_ns + 0.9 * length, freed], result);
    }
    const pool = perWord(80, (word) =>
      steps.flatMap((step) => [store(inStep(step, 0.8 + 0.001 * word)), load(inStep(step, 0.85 + 0.001 * word))]),
    );
    heap.stays("activation", "pool", pool);
    heap.stays("weight", "encoder", readInEach(random, steps, 240, 2), 10);
    return heap.world(steps, 80 * MS);
  },
};
