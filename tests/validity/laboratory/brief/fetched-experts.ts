/** Experts that are fetched when a step wants them, of which some are kept. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import { between, type Step, US, whole } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, readInEach, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { decode, prefill } from "./steps.ts";

const EXPERTS = 40;
const KEPT = 10;
const WORDS = 24;

interface Fetched {
  readonly born: number;
  readonly reads: number[];
  /** When it was read last. */
  used: number;
}

const drawTaste = (random: Random): number[] => Array.from({ length: EXPERTS }, () => exponential(random) ** 2.5);

/** An expert by how much each is wanted. */
function draw(random: Random, taste: readonly number[]): number {
  let left = random() * taste.reduce((sum, liking) => sum + liking, 0);
  for (let expert = 0; expert < EXPERTS - 1; expert++) {
    left -= taste[expert] ?? 0;
    if (left <= 0) return expert;
  }
  return EXPERTS - 1;
}

/** So many experts, or one more: at times one comes that nobody expected. */
function chosen(random: Random, taste: readonly number[], count: number): Set<number> {
  const out = new Set<number>();
  while (out.size < count) {
    out.add(draw(random, taste));
    if (random() < 0.02) out.add(whole(random, EXPERTS));
  }
  return out;
}

export const fetchedExperts: WorldKind = {
  name: "40 experts, fetched by a step that waits for them, of which the 10 used last are kept, 20 s",
  make: (random) => {
    const run = 20 * SECOND;
    const heap = heapOver(run);
    const steps: Step[] = [];
    const here = new Map<number, Fetched>();
    const giveBack = ({ born, reads }: Fetched, freed: number): void => {
      const words = perWord(WORDS, (word) => [
        store(born + 0.1 * MS + (word / WORDS) * 4 * MS),
        ...reads.map((time) => load(Math.max(time, born + 5 * MS) + word * 20 * US)),
      ]);
      heap.lives("weight", "experts", [born, freed], words);
    };
    let taste = drawTaste(random);
    for (let now = -random() * SECOND; now < run; ) {
      if (random() < 0.012) taste = drawTaste(random);
      if (random() < 0.01) now += 250 * exponential(random) * MS;
      const begin = now;
      const isPrompt = random() < 0.02;
      now += 2 * MS;
      for (const expert of chosen(random, taste, isPrompt ? 9 : 3)) {
        let one = here.get(expert);
        if (one === undefined) {
          const [oldest] = [...here].sort((a, b) => a[1].used - b[1].used);
          if (here.size >= KEPT && oldest !== undefined) {
            here.delete(oldest[0]);
            giveBack(oldest[1], now);
            now += 0.05 * MS;
          }
          one = { born: now, reads: [], used: now };
          here.set(expert, one);
          now += 7 * MS;
        }
        one.used = now;
        one.reads.push(now);
        now += between(random, 1, 1.6) * MS * (isPrompt ? 4 : 1);
      }
      now += MS;
      steps.push(isPrompt ? prefill(begin, now, 48) : decode(begin, now));
      now += 0.2 * MS;
    }
    const last = (steps.at(-1)?.end_ns ?? run) + 0.2 * MS;
    for (const one of here.values()) giveBack(one, last + SECOND);
    heap.stays("weight", "shared", readInEach(random, steps, 120), 2);
    return heap.world(steps);
  },
};
