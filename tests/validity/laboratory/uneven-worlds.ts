/** Kinds of work that are uneven in several ways at once: popularity, tensors by turns, caches that grow, trains, cycles. */
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

const popularity: WorldKind = {
  name: "1000 words read at random, each as often as its rank to the power of -1.2",
  make: (random) =>
    one(
      "unknown",
      words((word) => {
        const mean = 5 * MS * (word + 1) ** 1.2;
        return loads(timesFrom(random() * mean, RUN_NS, () => mean * exponential(random)));
      }, 1000),
    ),
};

const tensorsByTurns: WorldKind = {
  name: "12 tensors, each read every 10 ms for a second in the mean, then left for 3",
  make: (random) => {
    const turns = Array.from({ length: 12 }, () => {
      const out: (readonly [number, number])[] = [];
      for (let begin = -2 * SECOND * random(); begin < RUN_NS; ) {
        const end = begin + SECOND * exponential(random);
        out.push([begin, end]);
        begin = end + 3 * SECOND * exponential(random);
      }
      return out;
    });
    return one(
      "weight",
      words((word) => {
        const place = random() * 8 * MS;
        const begins = (begin: number): number => Math.ceil(begin / (10 * MS)) * 10 * MS + place;
        return loads((turns[word % 12] ?? []).flatMap(([begin, end]) => timesFrom(begins(begin), end, () => 10 * MS)));
      }),
    );
  },
};

const lateRush: WorldKind = {
  name: "half of the reads in the last tenth of the run",
  make: (random) =>
    one(
      "unknown",
      words(() => {
        const rush = 0.9 * RUN_NS;
        return loads([
          ...timesFrom(random() * 45 * MS, rush, () => 90 * MS * random()),
          ...timesFrom(rush + random() * 5 * MS, RUN_NS, () => 10 * MS * random()),
        ]);
      }),
    ),
};

const checkpoints: WorldKind = {
  name: "all words written within 20 ms every 4 s, each read every 50 ms",
  make: (random) =>
    one(
      "activation",
      words(() =>
        trace([
          ...timesFrom(2 * SECOND, RUN_NS, () => 4 * SECOND).map((t): Hit => [t + 20 * MS * random(), OP.store]),
          ...timesFrom(random() * 50 * MS, RUN_NS, () => 50 * MS).map((t): Hit => [t, OP.load]),
        ]),
      ),
    ),
};

const wanderingHeat: WorldKind = {
  name: "2 % of the words, others in every second, read each ms for 300 ms, all every 100",
  make: (random) => {
    const seconds = RUN_NS / SECOND;
    const hot = Array.from({ length: seconds }, () => {
      return new Set(Array.from({ length: 0.02 * WORDS }, () => Math.floor(random() * WORDS)));
    });
    return one(
      "unknown",
      words((word) => {
        const rushes = hot.flatMap((some, second) =>
          some.has(word) ? timesFrom(second * SECOND + random() * MS, second * SECOND + 300 * MS, () => MS) : [],
        );
        return loads([...timesFrom(random() * 100 * MS, RUN_NS, () => 100 * MS), ...rushes]);
      }),
    );
  },
};

const trains: WorldKind = {
  name: "100 reads 1 ms apart, then none for a second in the mean",
  make: (random) =>
    one(
      "unknown",
      words(() => {
        const train = (begin: number): number[] => Array.from({ length: 100 }, (_, i) => begin + i * MS);
        const gap = (): number => 100 * MS + SECOND * exponential(random);
        return loads(timesFrom(-random() * SECOND, RUN_NS, gap).flatMap(train));
      }),
    ),
};

const neededForAPart: WorldKind = {
  name: "rewritten after lognormal times, sigma 1, and read for the last time anywhere in between",
  make: (random) =>
    one(
      "activation",
      words(() => {
        const hits: Hit[] = [];
        for (let t = -random() * 60 * MS; t < RUN_NS; ) {
          const cycle = 40 * MS * Math.exp(normalDraw(random));
          const last = cycle * random();
          hits.push([t, OP.store], [t + last * random(), OP.load], [t + last, OP.load]);
          t += cycle;
        }
        return trace(hits);
      }),
    ),
};

const nearlyAlike: WorldKind = {
  name: "written and read at once in each step of 8 to 12 ms, but every 20,000th time only read",
  make: (random) =>
    one(
      "activation",
      words(() => {
        const place = 4 * MS * random();
        return trace(
          tokens(random, () => (8 + 4 * random()) * MS).flatMap((begin): Hit[] => [
            [begin + place, random() < 1 / 20_000 ? OP.load : OP.load_store],
          ]),
        );
      }),
    ),
};

const ROWS = 200;

/** Each step writes the next row of every cache, and reads all rows up to it. */
const growingCaches = (caches: number): WorldKind => ({
  name: `${caches} caches that grow by a row in each step of 20 ms, up to 20 to 200 rows, then begin again`,
  make: (random) => {
    const draw = (): number => 20 + Math.floor(180 * random());
    const rows = Array.from({ length: caches * ROWS }, (): Hit[] => []);
    const state = Array.from({ length: caches }, () => ({ length: Math.floor(150 * random()), most: draw() }));
    for (let t = 0; t < RUN_NS; t += 20 * MS * (0.9 + 0.2 * random())) {
      state.forEach((cache, c) => {
        if (cache.length >= cache.most) Object.assign(cache, { length: 0, most: draw() });
        rows[c * ROWS + cache.length]?.push([t + 5 * MS, OP.store]);
        for (let row = 0; row <= cache.length; row++) {
          rows[c * ROWS + row]?.push([t + 10 * MS + (row / ROWS) * 3 * MS, OP.load]);
        }
        cache.length += 1;
      });
    }
    const list = rows.map((hits) => trace(hits));
    return one("kv_cache", list, { token_period_ns: 20 * MS });
  },
});

export const UNEVEN_WORLDS: readonly WorldKind[] = [
  popularity,
  tensorsByTurns,
  lateRush,
  checkpoints,
  wanderingHeat,
  trains,
  neededForAPart,
  nearlyAlike,
  growingCaches(8),
];
