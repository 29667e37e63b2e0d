/** A cache whose newest rows are kept as they are, and packed tighter 16 at a time. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { US, whole } from "../served/parts.ts";
import { exponential, type Hit, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { type Heap, heapOver } from "./heap.ts";
import { type Request, serve } from "./serving.ts";
import { geometric, inStep, isDecode } from "./steps.ts";

const BLOCK = 16;

/** The rows of a request: those of its prompt packed at the end of the prefill, the others when 16 are there. */
function keepRows(heap: Heap, run: number, { steps, prompt, freed }: Request, share: number): void {
  const pack = (born: number, next: number): void => {
    const words = perWord(6, (word) => [
      store(born + 0.05 * MS + word * US),
      ...steps.slice(next).map((step) => load(inStep(step, share + 0.3) + word * 1.5 * US)),
    ]);
    heap.lives("kv_cache", "quantised", [born, freed], words);
  };
  const [first] = steps;
  for (let block = 0; first !== undefined && block < prompt / BLOCK; block++) pack(inStep(first, 0.8), 1);
  for (let from = 1; from < steps.length; from += BLOCK) {
    const mine = steps.slice(from, from + BLOCK);
    const [begin, last] = [mine[0], mine.at(-1)];
    if (begin === undefined || last === undefined) continue;
    const isFull = mine.length === BLOCK;
    const until = isFull ? inStep(last, 0.95) : freed;
    // Rows that were packed before the run are left out.
    if (until <= 0 || begin.begin_ns > run) continue;
    const rows = perWord(BLOCK, (row) =>
      mine
        .slice(row)
        .flatMap((step, k): Hit[] => [
          k === 0 ? store(inStep(step, share)) : load(inStep(step, share) + row * US),
          load(inStep(step, share + 0.4) + row * US),
          ...(isFull && step === last ? [load(inStep(last, 0.9) + row * 0.5 * US)] : []),
        ]),
    );
    heap.lives("kv_cache", "recent", [begin.begin_ns, until], rows);
    if (isFull) pack(inStep(last, 0.9), from + BLOCK);
  }
}

export const repackedRows: WorldKind = {
  name: "new rows in blocks of 16 steps, then packed tighter, unpacked to scratch memory that is there for half of a step, 16 s",
  make: (random) => {
    const run = 16 * SECOND;
    const heap = heapOver(run);
    const { steps, requests } = serve(random, {
      run,
      rate: 0.55,
      most: 4,
      prompt: () => BLOCK * (1 + whole(random, 5)),
      answer: () => geometric(random, 110),
      prefill: (tokens) => (15 + 0.8 * tokens) * MS,
      decode: (many) => (8 + 2 * many + 3 * exponential(random)) * MS,
    });
    for (const request of requests.filter(({ freed }) => freed > 0)) keepRows(heap, run, request, 0.1 + 0.2 * random());
    for (const step of steps.filter(isDecode)) {
      const [born, freed] = [inStep(step, 0.3), inStep(step, 0.85)];
      const words = perWord(12, (word) => [
        store(born + 0.02 * MS + (freed - born) * 0.3 * (word / 12)),
        load(born + (freed - born) * (0.4 + 0.3 * (word / 12))),
        load(born + (freed - born) * (0.65 + 0.3 * (word / 12))),
      ]);
      heap.lives("activation", "unpacked", [born, freed], words);
    }
    const hidden = perWord(40, (word) => {
      const share = (0.9 * word) / 40;
      return steps.flatMap((step) => [store(inStep(step, share)), load(inStep(step, share + 0.05))]);
    });
    heap.stays("activation", "hidden", hidden);
    heap.stays("weight", "layers", readInEach(random, steps, 160, 2), 30);
    return heap.world(steps);
  },
};
