/** Kinds of work of which next to no watch sees the passes that carry a figure: bursts that come once, or far apart. */
import { OP } from "../../../src/schema/operation.ts";
import type { WorldKind } from "../../../src/simulate/world.ts";
import { normalDraw } from "../../../src/statistics/normal.ts";
import { type Hit, MS, one, RUN_NS, SECOND, tokens, trace, WORDS, words } from "./shapes.ts";

const loadedInBursts: WorldKind = {
  name: "30 writes in 3 ms when the word is loaded, then read once a token of 50 ms",
  make: (random) => {
    const begins = tokens(random, () => 50 * MS).filter((begin) => begin > 3 * SECOND);
    return one(
      "weight",
      words(() => {
        const loaded = random() * 3 * SECOND;
        const place = random() * 40 * MS;
        const writes = Array.from({ length: 30 }, (_, k): Hit => [loaded + 0.1 * k * MS, OP.store]);
        return trace([...writes, ...begins.map((begin): Hit => [begin + place, OP.load])]);
      }),
      { token_period_ns: 50 * MS },
    );
  },
};

const readLog: WorldKind = {
  name: "a log of which each word is written once and read 10 times after lognormal delays",
  make: (random) =>
    one(
      "kv_cache",
      words((word) => {
        const written = (word / WORDS) * RUN_NS;
        const reads = Array.from(
          { length: 10 },
          (): Hit => [written + 50 * MS * Math.exp(1.5 * normalDraw(random)), OP.load],
        );
        return trace([[written, OP.store], ...reads]);
      }),
    ),
};

const rareBursts: WorldKind = {
  name: "bursts of 60 reads, 200 us apart, every 5 s",
  make: (random) =>
    one(
      "unknown",
      words(() => {
        const hits: Hit[] = [];
        for (let t = (random() - 1) * 5 * SECOND; t < RUN_NS; t += 5 * SECOND)
          for (let k = 0; k < 60; k++) hits.push([t + 0.2 * k * MS, OP.load]);
        return trace(hits);
      }),
    ),
};

const betweenSteps: WorldKind = {
  name: "bursts of 40 reads, 200 us apart, every 6 s, between steps of 20 ms every second",
  make: (random) => {
    const steps = tokens(random, () => SECOND).map((begin_ns) => {
      return { step: "decode" as const, begin_ns, end_ns: begin_ns + 20 * MS, n_tokens: 1 };
    });
    const list = words(() => {
      const hits: Hit[] = [];
      for (let t = (random() - 1) * 6 * SECOND; t < RUN_NS; t += 6 * SECOND * (0.9 + 0.2 * random()))
        for (let k = 0; k < 40; k++) hits.push([t + 0.2 * k * MS, OP.load]);
      return trace(hits);
    });
    const inside = steps.filter(({ begin_ns, end_ns }) => begin_ns >= 0 && end_ns <= RUN_NS);
    return one("unknown", list, { steps: inside, token_period_ns: SECOND });
  },
};

/** Each word by itself: `touches` accesses, 5 us apart, the first of which writes, after uneven pauses. */
function filledWatches(touches: number): WorldKind {
  return {
    name: `${touches} accesses in one pass, every 150 to 450 ms`,
    make: (random) =>
      one(
        "unknown",
        words(() => {
          const hits: Hit[] = [];
          for (let t = -random() * 300 * MS; t < RUN_NS; t += (150 + 300 * random()) * MS)
            for (let k = 0; k < touches; k++) hits.push([t + 0.005 * k * MS, k === 0 ? OP.store : OP.load]);
          return trace(hits);
        }),
      ),
  };
}

/** Passes every 10 to 30 ms, of which one in a hundred has 300 accesses in place of one. */
const rareLongPasses: WorldKind = {
  name: "one pass of a hundred has 300 accesses, the others one",
  make: (random) =>
    one(
      "weight",
      words(() => {
        const hits: Hit[] = [];
        for (let t = -random() * 20 * MS; t < RUN_NS; t += (10 + 20 * random()) * MS)
          for (let k = 0, touches = random() < 0.01 ? 300 : 1; k < touches; k++)
            hits.push([t + 0.007 * k * MS, OP.load]);
        return trace(hits);
      }),
    ),
};

export const RARE_WORLDS: readonly WorldKind[] = [
  loadedInBursts,
  readLog,
  rareBursts,
  betweenSteps,
  filledWatches(12),
  filledWatches(40),
  rareLongPasses,
];
