/** What is done to words of memory. */
import { OP } from "../../../../src/schema/operation.ts";
import type { Random } from "../../../../src/statistics/prng.ts";
import type { Step } from "../served/parts.ts";
import type { Hit } from "../shapes.ts";
import { inStep } from "./steps.ts";

export const load = (time: number): Hit => [time, OP.load];
export const store = (time: number): Hit => [time, OP.store];

/** The accesses of each of so many words. */
export const perWord = (count: number, use: (word: number) => Hit[]): Hit[][] =>
  Array.from({ length: count }, (_, word) => use(word));

/** Words that are read once in each decode step and `inPrefill` times in a prefill, each word at its own part of it. */
export const readInEach = (random: Random, steps: readonly Step[], count: number, inPrefill = 1): Hit[][] =>
  perWord(count, () => {
    const share = 0.97 * random();
    return steps.flatMap((step) => {
      const times = step.step === "decode" ? 1 : inPrefill;
      return Array.from({ length: times }, (_, k) => load(inStep(step, (k + share) / times)));
    });
  });
