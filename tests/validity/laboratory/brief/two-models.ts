/** A server with memory for one of its models: layers are loaded one by one, used for some seconds and freed. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { between, type Step } from "../served/parts.ts";
import { exponential, type Hit, MS, SECOND } from "../shapes.ts";
import { load, perWord, store } from "./accesses.ts";
import { type Heap, heapOver } from "./heap.ts";
import { decode, inStep, isPrefill, prefill } from "./steps.ts";

const LAYERS = 12;
const WORDS = 16;

/** Steps up to a time, with a prompt at times. */
function work(random: Random, from: number, until: number, pace: number): Step[] {
  const out: Step[] = [];
  for (let now = from; now < until; ) {
    const isPrompt = random() < 0.02;
    const length = (isPrompt ? between(random, 80, 250) : pace * between(random, 0.85, 1.3)) * MS;
    out.push(isPrompt ? prefill(now, now + length, 100) : decode(now, now + length, 2));
    now += length + (random() < 0.05 ? 150 * exponential(random) : 0.3) * MS;
  }
  return out;
}

/** Scratch memory that is used much in the first eight steps, and in every twelfth later. */
const arena = (steps: readonly Step[]): Hit[][] =>
  perWord(60, (word) =>
    steps.flatMap((step, i) => {
      const times = i < 8 ? 6 : i % 12 === 0 ? 1 : 0;
      return Array.from({ length: times }, (_, k) => [
        store(inStep(step, ((k + 0.2) / times) * 0.9)),
        load(inStep(step, ((k + 0.5 + 0.003 * word) / times) * 0.9)),
      ]).flat();
    }),
  );

/** When a model is there, ns. */
interface Stay {
  readonly from: number;
  /** How long its layers take to come. */
  readonly loading: number;
  readonly end: number;
}

/** Layers that come one after the other during a first prompt, and the steps that read them later. */
function keepLayers(heap: Heap, random: Random, { from, loading, end }: Stay, steps: readonly Step[]): void {
  for (let layer = 0; layer < LAYERS; layer++) {
    const born = from + (loading * layer) / LAYERS;
    const words = perWord(WORDS, (word) => {
      const late = random();
      return [
        store(born + (loading / LAYERS) * 0.6 * late + 0.1 * MS),
        load(born + (loading / LAYERS) * (0.7 + 0.2 * late)),
        ...steps.map((step) => load(inStep(step, (layer + 0.9 * (word / WORDS)) / LAYERS))),
      ];
    });
    heap.lives("weight", "layers", [born, end + layer * 8 * MS], words);
  }
}

export const twoModels: WorldKind = {
  name: "a fast and a slow model, one at a time: loaded layer by layer during a first prompt, used for 2 to 6 s, one head for both, 30 s",
  make: (random) => {
    const run = 30 * SECOND;
    const heap = heapOver(run);
    const steps: Step[] = [];
    for (let now = -3 * SECOND * random(); now < run; ) {
      const loading = between(random, 0.5, 1.2) * SECOND;
      const stay = between(random, 2, 6) * SECOND;
      const pace = random() < 0.5 ? 14 : 55;
      // The first prompt waits for the layers.
      const first = prefill(now, now + loading, 300);
      const later = work(random, now + loading + MS, now + loading + stay, pace);
      const end = (later.at(-1) ?? first).end_ns + 20 * MS;
      keepLayers(heap, random, { from: now, loading, end }, later);
      heap.lives("activation", "arena", [now, end], arena([first, ...later]));
      steps.push(first, ...later);
      now = end + LAYERS * 8 * MS + 30 * MS + (random() < 0.3 ? SECOND * random() : 0);
    }
    const head = perWord(80, (word) => steps.map((step) => load(inStep(step, 0.93 + 0.0005 * word))));
    heap.stays("weight", "head", head);
    const io = perWord(60, (word) =>
      steps.flatMap((step) => {
        if (isPrefill(step)) return [store(inStep(step, 0.01)), load(inStep(step, 0.02 + 0.0001 * word))];
        return random() < 0.2 ? [load(inStep(step, 0.5))] : [];
      }),
    );
    heap.stays("activation", "io", io);
    return heap.world(steps);
  },
};
