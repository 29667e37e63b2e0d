/** Adapters of tenants, there from a first request until nobody has used them for a while. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { between, type Step, US, whole } from "../served/parts.ts";
import { type Hit, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { type Heap, heapOver } from "./heap.ts";
import { type Request, serve } from "./serving.ts";
import { geometric, inStep } from "./steps.ts";

const TENANTS = 14;

/** The time for which an adapter is there. */
interface Stay {
  readonly born: number;
  /** How long it stays unused, ns. */
  readonly keep: number;
  readonly steps: Set<Step>;
  /** End of its last use, ns. */
  used: number;
}

function lend(heap: Heap, random: Random, run: number, { born, keep, steps, used }: Stay): void {
  const freed = used + keep;
  const mine = [...steps].sort((a, b) => a.begin_ns - b.begin_ns);
  if (freed <= 0 || born >= run) return;
  const words = perWord(24, (word) => {
    const share = 0.3 + 0.6 * random();
    const loaded = mine.slice(0, 1).map((step) => store(inStep(step, 0.02) + word * 10 * US));
    return [...loaded, ...mine.map((step) => load(inStep(step, share)))];
  });
  heap.lives("weight", "adapters", [born, freed], words);
}

/** The adapter of one tenant, by its requests in their order. */
function lendFor(heap: Heap, random: Random, run: number, requests: readonly Request[]): void {
  let stay: Stay | undefined;
  for (const { begin, freed, steps } of requests) {
    if (stay === undefined || begin > stay.used + stay.keep) {
      if (stay !== undefined) lend(heap, random, run, stay);
      stay = { born: begin, keep: between(random, 0.5, 3) * SECOND, steps: new Set(), used: begin };
    }
    for (const step of steps) stay.steps.add(step);
    stay.used = Math.max(stay.used, Math.min(freed, run + SECOND));
  }
  if (stay !== undefined) lend(heap, random, run, stay);
}

export const lentAdapters: WorldKind = {
  name: "14 adapters that come with a request and go when unused for 0.5 to 3 s, beside weights that all share, 24 s",
  make: (random) => {
    const run = 24 * SECOND;
    const heap = heapOver(run);
    const { steps, requests } = serve(random, {
      run,
      rate: 1.1,
      most: 6,
      prompt: () => 10 + whole(random, 60),
      answer: () => geometric(random, 30),
      prefill: (tokens) => (30 + tokens) * MS,
      decode: (many) => (10 + 4 * many + 2 * random()) * MS,
      gap: () => 0.5 * MS,
    });
    const tenants = requests.map(() => Math.floor(TENANTS * random() ** 2));
    for (let tenant = 0; tenant < TENANTS; tenant++)
      lendFor(
        heap,
        random,
        run,
        requests.filter((_, i) => tenants[i] === tenant),
      );
    heap.stays("weight", "base", readInEach(random, steps, 160, 2));
    for (const request of requests.filter(({ freed }) => freed > 0)) {
      const words = perWord(20, (word) =>
        request.steps.flatMap((step, k): Hit[] => {
          const late = word * 10 * US;
          if (k === 0) return [store(inStep(step, 0.01) + late), load(inStep(step, 0.5))];
          if (random() >= 0.3) return [];
          const read = load(inStep(step, 0.97) + late);
          return word < 4 ? [read, store(inStep(step, 0.98) + late)] : [read];
        }),
      );
      heap.lives("runtime", "request", [request.begin, Math.min(request.freed, run + SECOND)], words);
    }
    const scheduler = perWord(60, () =>
      steps.flatMap(({ begin_ns, end_ns }) => {
        const read = load(begin_ns + 0.02 * MS * random());
        return random() < 0.2 ? [read, store(end_ns - 0.05 * MS)] : [read];
      }),
    );
    heap.stays("runtime", "scheduler", scheduler);
    return heap.world(steps);
  },
};
