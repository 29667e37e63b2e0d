/** Kinds of work whose parts are unlike: two populations of times, words that change, few large tensors, requests of heavy tails. */
import { OP } from "../../../src/schema/operation.ts";
import type { WorldKind } from "../../../src/simulate/world.ts";
import { normalDraw } from "../../../src/statistics/normal.ts";
import {
  exponential,
  type Hit,
  loads,
  MS,
  one,
  RUN_NS,
  SECOND,
  timesFrom,
  tokens,
  trace,
  WORDS,
  words,
} from "./shapes.ts";

const besideTheMedian: WorldKind = {
  name: "51 % of the times between passes 10 ms, 49 % of them 40",
  make: (random) =>
    one(
      "unknown",
      words((word) => {
        const period = (word < 0.2065 * WORDS ? 10 : 40) * MS;
        return loads(timesFrom(random() * period, RUN_NS, () => period * (0.98 + 0.04 * random())));
      }),
    ),
};

const besideTheNinetieth: WorldKind = {
  name: "91 % of the writes read after 2 ms, 9 % after 60",
  make: (random) =>
    one(
      "activation",
      words(() =>
        trace(
          timesFrom((random() - 1) * 80 * MS, RUN_NS, () => 80 * MS).flatMap((t): Hit[] => [
            [t, OP.store],
            [t + (random() < 0.91 ? 2 : 60) * MS, OP.load],
          ]),
        ),
      ),
    ),
};

const changingClass: WorldKind = {
  name: "words read every 20 ms that are rewritten every 15 from a random moment on",
  make: (random) =>
    one(
      "activation",
      words(() => {
        const turn = RUN_NS * random();
        const rewrites = timesFrom(turn, RUN_NS, () => 15 * MS);
        return trace([
          ...timesFrom(random() * 20 * MS, turn, () => 20 * MS).map((t): Hit => [t, OP.load]),
          ...rewrites.flatMap((t): Hit[] => [
            [t, OP.store],
            [t + 6 * MS, OP.load],
          ]),
        ]);
      }),
    ),
};

/** 20 slots, each with a request at a time; gaps and lengths without a mean to speak of. */
const heavyRequests: WorldKind = {
  name: "requests after Pareto gaps, of Pareto length, each in one of 20 slots",
  make: (random) => {
    const pareto = (least: number): number => least / (1 - random()) ** (1 / 1.2);
    const slots = Array.from({ length: 20 }, () => {
      const turns: (readonly [number, number])[] = [];
      for (let t = -SECOND * random(); t < RUN_NS; ) {
        const end = t + pareto(150 * MS);
        turns.push([t, end]);
        t = end + pareto(200 * MS);
      }
      return turns;
    });
    return one(
      "kv_cache",
      words((word) => {
        const place = random() * 4 * MS;
        return trace(
          (slots[word % 20] ?? []).flatMap(([begin, end]): Hit[] => [
            [begin + place, OP.store],
            ...timesFrom(begin + place + 8 * MS, Math.min(end, RUN_NS), () => 8 * MS).map((t): Hit => [t, OP.load]),
          ]),
        );
      }),
      { token_period_ns: 8 * MS },
    );
  },
};

const readBeforeRewrite: WorldKind = {
  name: "rewritten every 30 to 70 ms, read three times in the last ms before",
  make: (random) =>
    one(
      "activation",
      words(() =>
        trace(
          timesFrom((random() - 1) * 50 * MS, RUN_NS, () => (30 + 40 * random()) * MS).flatMap((t): Hit[] => [
            [t - 0.9 * MS, OP.load],
            [t - 0.6 * MS, OP.load],
            [t - 0.3 * MS, OP.load],
            [t, OP.store],
          ]),
        ),
      ),
    ),
};

const fewTensors: WorldKind = {
  name: "four tensors, each read at once, every 3, 17, 90 and 700 ms",
  make: (random) => {
    const reads = [3, 17, 90, 700].map((period) => {
      const phase = random() * period * MS;
      return timesFrom(phase, RUN_NS, () => period * MS * (0.9 + 0.2 * random()));
    });
    return one(
      "weight",
      words((word) => {
        const place = random() * MS;
        return loads((reads[word % 4] ?? []).map((t) => t + place));
      }),
    );
  },
};

const shortRun: WorldKind = {
  name: "a run of 5 s, tokens of 12 ms, rings and lognormal words",
  make: (random) => {
    const run = 5 * SECOND;
    const begins = tokens(random, () => 12 * MS, run);
    const ring = words(() => {
      const place = random() * 6 * MS;
      return trace(
        begins.flatMap((begin): Hit[] => [
          [begin + place, OP.store],
          [begin + place + 3 * MS, OP.load],
        ]),
        run,
      );
    }, WORDS / 2);
    const uneven = words(() => {
      const mean = 30 * MS * Math.exp(normalDraw(random));
      return trace(
        timesFrom(mean * exponential(random), run, () => 0.1 * MS + mean * exponential(random)).map(
          (t, i): Hit => [t, i % 3 === 0 ? OP.store : OP.load],
        ),
        run,
      );
    }, WORDS / 2);
    return {
      ...one("activation", [], { run_ns: run, token_period_ns: 12 * MS }),
      strata: [
        { stratum: "activation/a", region_type: "activation", words: ring },
        { stratum: "activation/b", region_type: "activation", words: uneven },
      ],
    };
  },
};

const unlikeSizes: WorldKind = {
  name: "two strata, one of them 1000 times as large, used 1000 times as rarely",
  make: (random) => {
    const used = (period: number) =>
      words(
        () =>
          trace(
            timesFrom(random() * period, RUN_NS, () => period * (0.5 + random())).map(
              (t, i): Hit => [t, i % 4 === 0 ? OP.store : OP.load],
            ),
          ),
        WORDS / 4,
      );
    return {
      ...one("activation", []),
      strata: [
        { stratum: "activation/a", region_type: "activation", words: used(2 * MS) },
        { stratum: "activation/b", region_type: "activation", words: used(2 * SECOND), repeats: 1000 },
      ],
    };
  },
};

const manyStops: WorldKind = {
  name: "the tracer is stopped 40 times, for 20 to 200 ms",
  make: (random) => ({
    ...one(
      "activation",
      words(() =>
        trace(
          timesFrom((random() - 1) * 25 * MS, RUN_NS, () => 25 * MS * (0.5 + random())).flatMap((t): Hit[] => [
            [t, OP.store],
            [t + 4 * MS, OP.load],
          ]),
        ),
      ),
    ),
    stopped_ns: Array.from({ length: 40 }, (_, i) => {
      const begin = ((i + random() * 0.5) * RUN_NS) / 40;
      return [begin, begin + (20 + 180 * random()) * MS] as const;
    }),
  }),
};

const fadingInterest: WorldKind = {
  name: "read 1, 2, 4, 8 ... ms after the write, written again after 400 ms in the mean",
  make: (random) =>
    one(
      "kv_cache",
      words(() => {
        const hits: Hit[] = [];
        for (let t = -400 * MS * random(); t < RUN_NS; ) {
          const next = t + 5 * MS + 395 * MS * exponential(random);
          hits.push([t, OP.store]);
          for (let after = MS; t + after < next; after *= 2) hits.push([t + after, OP.load]);
          t = next;
        }
        return trace(hits);
      }),
    ),
};

const fewWriters: WorldKind = {
  name: "2 % of the words take all writes, one in every ms, all words read every 10 ms",
  make: (random) =>
    one(
      "runtime",
      words((word) => {
        const reads = timesFrom(random() * 10 * MS, RUN_NS, () => 10 * MS).map((t): Hit => [t, OP.load]);
        if (word >= 0.02 * WORDS) return trace(reads);
        return trace([...reads, ...timesFrom(random() * MS, RUN_NS, () => MS).map((t): Hit => [t, OP.store])]);
      }),
    ),
};

const rareScans: WorldKind = {
  name: "all words scanned at random moments, 700 ms apart in the mean",
  make: (random) => {
    const scans = timesFrom(random() * 100 * MS, RUN_NS, () => 5 * MS + 695 * MS * exponential(random));
    return one(
      "weight",
      words(() => {
        const place = random() * 3 * MS;
        return loads(scans.map((t) => t + place));
      }),
    );
  },
};

const driftingTokens: WorldKind = {
  name: "tokens of lognormal length that drifts, sigma 1, over some 20 tokens",
  make: (random) => {
    let drift = normalDraw(random);
    const begins = tokens(random, () => {
      drift = 0.95 * drift + Math.sqrt(1 - 0.95 ** 2) * normalDraw(random);
      return 12 * MS * Math.exp(drift);
    });
    return one(
      "activation",
      words(() => {
        const place = random() * MS;
        return trace(
          begins.flatMap((begin, i): Hit[] => [
            [begin + place, OP.load],
            ...(i % 3 === 0 ? [[begin + place + 0.4 * MS, OP.store] as const] : []),
          ]),
        );
      }),
      { token_period_ns: 20 * MS },
    );
  },
};

const threeKinds: WorldKind = {
  name: "words written and never read, read and never written, and both, of one stratum",
  make: (random) =>
    one(
      "runtime",
      words((word) => {
        const period = (5 + 60 * random()) * MS;
        const times = timesFrom(random() * period, RUN_NS, () => period * (0.3 + 1.4 * random()));
        const both = (i: number): number => (i % 5 === 0 ? OP.store : OP.load);
        return trace(times.map((t, i): Hit => [t, [OP.store, OP.load, both(i)][word % 3] ?? OP.load]));
      }),
    ),
};

export const UNLIKE_WORLDS: readonly WorldKind[] = [
  besideTheMedian,
  besideTheNinetieth,
  changingClass,
  heavyRequests,
  readBeforeRewrite,
  fewTensors,
  shortRun,
  unlikeSizes,
  manyStops,
  fadingInterest,
  fewWriters,
  rareScans,
  driftingTokens,
  threeKinds,
];
