/** Kinds of work that change while they run, or are of two kinds at once: written before anybody saw what the figures make of them. */
import { OP } from "../../../src/schema/operation.ts";
import type { WordTrace, WorldKind } from "../../../src/simulate/world.ts";
import { exponential, type Hit, loads, MS, one, RUN_NS, SECOND, tokens, trace, WORDS, words } from "./shapes.ts";

/** A Pareto number of mean `mean`; of the lengths with exponent 1.5 the variance has no end. */
const pareto = (uniform: number, mean: number, exponent = 1.5): number =>
  (mean * (exponent - 1)) / exponent / (1 - uniform) ** (1 / exponent);

const twoCycles: WorldKind = {
  name: "two strata, one rewritten every 12 ms, one read every 170 ms",
  make: (random) => {
    const ring = words(() => {
      const hits: Hit[] = [];
      for (let t = (random() - 1) * 12 * MS; t < RUN_NS; t += 12 * MS) hits.push([t, OP.store], [t + 5 * MS, OP.load]);
      return trace(hits);
    }, WORDS / 2);
    const slow = words(() => {
      const at: number[] = [];
      for (let t = random() * 170 * MS; t < RUN_NS; t += 170 * MS) at.push(t);
      return loads(at);
    }, WORDS);
    return {
      ...one("activation", []),
      strata: [
        { stratum: "activation/a", region_type: "activation", words: ring },
        { stratum: "activation/b", region_type: "activation", words: slow },
      ],
    };
  },
};

const paretoBursts: WorldKind = {
  name: "bursts of 4 by word, gaps of Pareto length between them",
  make: (random) =>
    one(
      "unknown",
      words(() => {
        const at: number[] = [];
        for (let t = random() * 40 * MS; t < RUN_NS; t += Math.max(2 * MS, pareto(random(), 40 * MS))) {
          for (let k = 0; k < 4; k++) at.push(t + k * 0.3 * MS);
        }
        return loads(at);
      }),
    ),
};

const paretoTokens: WorldKind = {
  name: "tokens of Pareto length, all words once in each",
  make: (random) => {
    const begins = tokens(random, () => Math.max(4 * MS, pareto(random(), 15 * MS)));
    return one(
      "weight",
      words(() => {
        const place = random() * 3 * MS;
        return loads(begins.map((begin) => begin + place));
      }),
      { token_period_ns: 15 * MS },
    );
  },
};

const dying: WorldKind = {
  name: "words used every 10 ms that are left alone after a random time",
  make: (random) =>
    one(
      "activation",
      words(() => {
        const last = random() * RUN_NS;
        const hits: Hit[] = [];
        for (let t = random() * 10 * MS; t < last; t += 10 * MS) hits.push([t, OP.store], [t + 4 * MS, OP.load]);
        return trace(hits);
      }),
    ),
};

/** The recorder rests 10 to 20 ms, 15 in the mean; once it was 12 to 20. */
const withThePoll = (period: number): WorldKind => ({
  name: `a burst of 1 ms over all words every ${period} ms, in step with the recorder`,
  make: (random) =>
    one(
      "activation",
      words(() => {
        const place = random() * MS;
        const hits: Hit[] = [];
        for (let t = place; t < RUN_NS; t += period * MS) hits.push([t, OP.store], [t + 0.2 * MS, OP.load]);
        return trace(hits);
      }),
      { token_period_ns: period * MS },
    ),
});

const movingHeat: WorldKind = {
  name: "5 % of the words 20 times as hot, others in every second",
  make: (random) => {
    const seconds = RUN_NS / SECOND;
    const hot = Array.from(
      { length: seconds },
      () => new Set(Array.from({ length: WORDS / 20 }, () => Math.floor(random() * WORDS))),
    );
    return one(
      "unknown",
      words((word) => {
        const at: number[] = [];
        for (let t = random() * 40 * MS; t < RUN_NS; ) {
          at.push(t);
          const isHot = hot[Math.floor(t / SECOND)]?.has(word) ?? false;
          const next = t + (isHot ? 2 : 40) * MS * (0.5 + random());
          // A word that gets hot is hot at once.
          const turn = (Math.floor(t / SECOND) + 1) * SECOND;
          t = next > turn && hot[turn / SECOND]?.has(word) ? turn + 2 * MS * random() : next;
        }
        return loads(at);
      }),
    );
  },
};

const growingBatch: WorldKind = {
  name: "4 passes a token from half time, one before",
  make: (random) => {
    const begins = tokens(random, () => 20 * MS);
    return one(
      "weight",
      words(() => {
        const place = random() * 4 * MS;
        return loads(
          begins.flatMap((begin) =>
            Array.from({ length: begin < RUN_NS / 2 ? 1 : 4 }, (_, k) => begin + place + 3 * k * MS),
          ),
        );
      }),
      { token_period_ns: 20 * MS },
    );
  },
};

const rareWrites: WorldKind = {
  name: "read once a token of 5 ms, written once in 1000",
  make: (random) => {
    const begins = tokens(random, () => 5 * MS);
    return one(
      "activation",
      words(() => {
        const place = random() * 3 * MS;
        const turn = Math.floor(random() * 1000);
        return trace(
          begins.flatMap((begin, i): Hit[] => {
            const hit: Hit = [begin + place, OP.load];
            return i % 1000 === turn ? [hit, [begin + place + 0.5 * MS, OP.store]] : [hit];
          }),
        );
      }),
      { token_period_ns: 5 * MS },
    );
  },
};

const twoBursts: WorldKind = {
  name: "two bursts of 3 reads per token of 20 ms, 1 ms apart",
  make: (random) => {
    const begins = tokens(random, () => 20 * MS);
    return one(
      "weight",
      words(() => {
        const place = random() * 15 * MS;
        return loads(
          begins.flatMap((begin) => [0, 0.02, 0.04, 1, 1.02, 1.04].map((after) => begin + place + after * MS)),
        );
      }),
      { token_period_ns: 20 * MS },
    );
  },
};

const randomMix: WorldKind = {
  name: "reads and writes at random, one in three a write",
  make: (random) =>
    one(
      "activation",
      words(() => {
        const hits: Hit[] = [];
        for (let t = 0; t < RUN_NS; t += 0.1 * MS + 15 * MS * exponential(random))
          hits.push([t, random() < 1 / 3 ? OP.store : OP.load]);
        return trace(hits);
      }),
    ),
};

const quickPasses: WorldKind = {
  name: "64 passes, 100 us apart, every 250 ms",
  make: (random) =>
    one(
      "activation",
      words(() => {
        const hits: Hit[] = [];
        for (let t = (random() - 1) * 250 * MS; t < RUN_NS; t += 250 * MS)
          for (let k = 0; k < 64; k++) hits.push([t + 0.1 * k * MS, k % 16 === 0 ? OP.store : OP.load]);
        return trace(hits);
      }, WORDS / 4),
    ),
};

const onAndOff: WorldKind = {
  name: "words on for 300 ms and off for 900 at random, each by itself",
  make: (random) =>
    one(
      "unknown",
      words((): WordTrace => {
        const at: number[] = [];
        for (let t = 1200 * MS * (random() - 1); t < RUN_NS; ) {
          const off = t + 300 * MS * exponential(random);
          for (; t < off; t += 6 * MS) at.push(t);
          t = off + 6 * MS + 900 * MS * exponential(random);
        }
        return loads(at);
      }),
    ),
};

/** Each tensor of 20 words has a rate of its own. */
const tensors: WorldKind = {
  name: "20 tensors whose rates differ 30 times from first to last",
  make: (random) =>
    one(
      "weight",
      words((word) => {
        const period = 3 * MS * 30 ** (Math.floor(word / 20) / 19);
        const at: number[] = [];
        for (let t = random() * period; t < RUN_NS; t += period) at.push(t);
        return loads(at);
      }),
    ),
};

const sawtooth: WorldKind = {
  name: "tokens that get 6 times slower in every 3 s, then start again",
  make: (random) => {
    const phase = random() * 3 * SECOND;
    const begins = tokens(
      random,
      (_, now) => 4 * MS * (1 + (5 * ((now + phase + 3 * SECOND) % (3 * SECOND))) / (3 * SECOND)),
    );
    return one(
      "activation",
      words(() => {
        const place = random() * 2 * MS;
        return trace(
          begins.flatMap((begin): Hit[] => [
            [begin + place, OP.store],
            [begin + place + 1.5 * MS, OP.load],
          ]),
        );
      }),
      { token_period_ns: 14 * MS },
    );
  },
};

export const CHANGING_WORLDS: readonly WorldKind[] = [
  twoCycles,
  paretoBursts,
  paretoTokens,
  dying,
  withThePoll(16),
  withThePoll(15),
  movingHeat,
  growingBatch,
  rareWrites,
  twoBursts,
  randomMix,
  quickPasses,
  onAndOff,
  tensors,
  sawtooth,
];
