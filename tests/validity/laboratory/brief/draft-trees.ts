/** Drafts whose rows live until they are verified, beside a cache that takes in those that were right. */
import type { WorldKind } from "../../../../src/simulate/world.ts";
import { between, type Step, table, US, whole } from "../served/parts.ts";
import { exponential, MS, SECOND } from "../shapes.ts";
import { load, perWord, store } from "./accesses.ts";
import { heapOver } from "./heap.ts";
import { decode, inStep, prefill } from "./steps.ts";

const ROWS = 400;
const WORDS_OF_DRAFT = 4;

export const draftTrees: WorldKind = {
  name: "drafts of 2 to 8 tokens that live for most of a round of 12 to 50 ms, beside a cache that grows by what was right, 16 s",
  make: (random) => {
    const run = 16 * SECOND;
    const heap = heapOver(run);
    const steps: Step[] = [];
    const target = table(ROWS);
    let ease = 0.7;
    let filled = 80;
    for (let now = -random() * 0.1 * SECOND; now < run; ) {
      if (random() < 0.01) ease = between(random, 0.2, 0.95);
      if (filled > ROWS - 10) {
        // Another conversation.
        filled = 40 + whole(random, 60);
        const length = between(random, 60, 160) * MS;
        steps.push(prefill(now, now + length, filled));
        for (let row = 0; row < filled; row++)
          target[row]?.push(store(now + 0.2 * length + row * 2 * US), load(now + 0.6 * length + row * 2 * US));
        now += length + MS;
        if (random() < 0.5) now += 0.7 * exponential(random) * SECOND;
        continue;
      }
      const drafts = 2 + whole(random, 7);
      const drafting = drafts * between(random, 1.5, 4.5) * MS;
      const verifying = between(random, 8, 14) * MS;
      const begin = now;
      const middle = begin + drafting;
      const end = middle + verifying;
      let right = 1;
      while (right <= drafts && random() < ease) right++;
      const rows = perWord(WORDS_OF_DRAFT * drafts, (word) => {
        const mine = Math.floor(word / WORDS_OF_DRAFT);
        const hits = [store(begin + ((mine + 0.3) / drafts) * drafting)];
        for (let later = mine + 1; later < drafts; later++)
          hits.push(load(begin + ((later + 0.3) / drafts) * drafting + word * 1.5 * US));
        hits.push(load(middle + 0.5 * verifying + word * 1.5 * US));
        if (mine < right) hits.push(load(middle + 0.75 * verifying));
        return hits;
      });
      heap.lives("kv_cache", "drafts", [begin + 0.1 * MS, middle + 0.8 * verifying], rows);
      const logits = perWord(40, (word) => [
        store(middle + 0.86 * verifying + word * US),
        load(middle + 0.9 * verifying + word * US),
        load(middle + 0.95 * verifying + word * US),
      ]);
      heap.lives("activation", "logits", [middle + 0.85 * verifying, end], logits);
      for (let row = 0; row < filled; row++) target[row]?.push(load(middle + 0.3 * verifying + row * 3 * US));
      for (let row = filled; row < filled + right; row++) target[row]?.push(store(middle + 0.76 * verifying));
      filled += right;
      steps.push(decode(begin, end, right));
      now = end + 0.3 * MS;
    }
    heap.stays("kv_cache", "target", target);
    const hidden = perWord(60, (word) => {
      const share = 0.4 * (word / 60);
      return steps.flatMap((step) => [store(inStep(step, 0.5 + share)), load(inStep(step, 0.55 + share))]);
    });
    heap.stays("activation", "hidden", hidden);
    return heap.world(steps);
  },
};
