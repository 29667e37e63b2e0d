/** A server that keeps caches in blocks of 16 tokens, which come as tokens do. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { table, US, whole } from "../served/parts.ts";
import { type Hit, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { type Request, serve } from "./serving.ts";
import { geometric, inStep, lengthOf } from "./steps.ts";

const BLOCK = 16;

/** A row is written when its token comes, and read in each step from then on. */
function useOfRow({ prompt, steps }: Request, token: number, row: number, share: number): Hit[] {
  const written = Math.max(0, token - prompt + 1);
  return steps.slice(written).flatMap((step, k): Hit[] => {
    const time = inStep(step, share);
    return k === 0 ? [store(time), load(time + 0.3 * MS)] : [load(time + 2 * US * row)];
  });
}

export const pagedBlocks: WorldKind = {
  name: "blocks of 16 tokens that come with their tokens and go with their request, beside scratch memory of each step, 18 s",
  make: (random) => {
    const run = 18 * SECOND;
    const heap = heapOver(run);
    const { steps, requests } = serve(random, {
      run,
      rate: 0.9,
      most: 8,
      prompt: () => 16 + whole(random, 120),
      answer: () => geometric(random, 70),
      prefill: (tokens) => (20 + 0.6 * tokens) * MS,
      decode: (many) => (7 + 1.6 * many + 2 * random()) * MS,
      gap: () => (random() < 0.02 ? 30 : 0.3) * MS,
    });
    const prefix = table(64);
    for (const request of requests) {
      const shares = random() < 0.6;
      for (let first = 0; first < request.prompt + request.answer; first += BLOCK) {
        const born = request.steps[Math.max(0, first - request.prompt + 1)]?.begin_ns;
        if (born === undefined) break;
        if (born >= run || request.freed <= 0) continue;
        const share = 0.05 + 0.8 * random();
        const rows = perWord(BLOCK, (row) => useOfRow(request, first + row, row, share));
        heap.lives("kv_cache", "blocks", [born, request.freed], rows);
      }
      if (!shares) continue;
      for (const step of request.steps)
        prefix.forEach((hits, word) => {
          hits.push(load(inStep(step, 0.1 + 0.8 * (word / prefix.length)) + (request.id % 7) * 3 * US));
        });
    }
    heap.stays("kv_cache", "prefix", prefix);
    for (const step of steps) {
      const scratch = perWord(12, (word) => {
        const time = inStep(step, 0.02 + 0.9 * (word / 12));
        return [store(time), load(time + 0.06 * lengthOf(step))];
      });
      heap.lives("activation", "scratch", [step.begin_ns, step.end_ns], scratch);
    }
    heap.stays("weight", "layers", readInEach(random, steps, 200, 2), 50);
    return heap.world(steps);
  },
};
