/** Kinds of work, at several strengths: even, by bursts, hot and cold, busy and idle, with heavy tails, in step with the sampler. */
import { OP } from "../../../src/schema/operation.ts";
import type { WordTrace, WorldKind } from "../../../src/simulate/world.ts";
import { normalDraw } from "../../../src/statistics/normal.ts";
import { BETWEEN_STEPS } from "./between-steps.ts";
import { BRIEF_WORLDS } from "./brief/brief-worlds.ts";
import { CHANGING_WORLDS } from "./changing-worlds.ts";
import { DRAWN_WORLDS } from "./drawn-worlds.ts";
import { FEW_BUSY_WORLDS, WRITTEN_BY_RANK } from "./few-busy-worlds.ts";
import { LIVES_IN_STEPS } from "./lives-in-steps.ts";
import { LIVING_WORLDS } from "./living-worlds.ts";
import { LOSSY_WORLDS } from "./lossy-worlds.ts";
import { MANY_STRATA, SCRATCH_TOGETHER } from "./many-strata.ts";
import { PACED_WORLDS } from "./paced/paced-worlds.ts";
import { PRACTISED_WORLDS } from "./practised/practised-worlds.ts";
import { RARE_WORLDS } from "./rare-worlds.ts";
import { ROW_CACHES } from "./row-caches.ts";
import { SERVED_WORLDS } from "./served/served-worlds.ts";
import {
  exponential,
  type Hit,
  loads,
  MS,
  oncePerToken,
  one,
  RUN_NS,
  SECOND,
  tokens,
  trace,
  WORDS,
  words,
} from "./shapes.ts";
import { STEP_WORLDS } from "./step-worlds.ts";
import { THREADED_WORLDS } from "./threaded-worlds.ts";
import { UNEVEN_WORLDS } from "./uneven-worlds.ts";
import { UNLIKE_PASSES } from "./unlike-passes.ts";
import { UNLIKE_WORLDS } from "./unlike-worlds.ts";

const even: WorldKind = {
  name: "even tokens of 5 ms",
  make: (random) =>
    one(
      "weight",
      oncePerToken(
        random,
        tokens(random, () => 5 * MS),
        4 * MS,
      ),
      { token_period_ns: 5 * MS },
    ),
};

const byTurns = (short: number, long: number): WorldKind => ({
  name: `tokens of ${short} and ${long} ms by turns`,
  make: (random) =>
    one(
      "weight",
      oncePerToken(
        random,
        tokens(random, (i) => (i % 2 === 0 ? short : long) * MS),
        short * 0.8 * MS,
      ),
      {
        token_period_ns: ((short + long) / 2) * MS,
      },
    ),
});

const slowing = (times: number): WorldKind => ({
  name: `tokens that get ${times} times slower over the run`,
  make: (random) =>
    one(
      "weight",
      oncePerToken(
        random,
        tokens(random, (_, now) => 4 * MS * (1 + ((times - 1) * Math.max(0, now)) / RUN_NS)),
        3 * MS,
      ),
      {
        token_period_ns: 8 * MS,
      },
    ),
});

const busyAndIdle = (busy: number, idle: number, token: number | null): WorldKind => ({
  name: `busy ${busy} s, idle ${idle} s${token === null ? ", no tokens known" : ""}`,
  make: (random) => {
    const cycle = (busy + idle) * SECOND;
    const phase = random() * cycle;
    const begins = tokens(random, () => 5 * MS).filter((begin) => (begin + phase) % cycle < busy * SECOND);
    return one("weight", oncePerToken(random, begins, 4 * MS), { token_period_ns: token });
  },
});

const burst = (hits: number, gapUs: number): WorldKind => ({
  name: `${hits} touches, ${gapUs} us apart, every 20 ms`,
  make: (random) => {
    const begins = tokens(random, () => 20 * MS);
    return one(
      "activation",
      words(
        () => {
          const place = random() * 10 * MS;
          const touches: Hit[] = [];
          for (const begin of begins) {
            for (let k = 0; k < hits; k++)
              touches.push([begin + place + k * gapUs * 1000, k % 4 === 0 ? OP.store : OP.load]);
          }
          return trace(touches);
        },
        hits >= 8 ? WORDS / 4 : WORDS,
      ),
    );
  },
});

const mixture = (share: number, cold: number, hot: number): WorldKind => ({
  name: `${Math.round(100 * share)} % of the words touched ${hot} times a token, the others ${cold}`,
  make: (random) => {
    const begins = tokens(random, () => 20 * MS);
    return one(
      "activation",
      words((word) => {
        const times = word < share * WORDS ? hot : cold;
        const touches: Hit[] = [];
        for (const begin of begins) {
          for (let k = 0; k < times; k++)
            touches.push([begin + ((k + random() * 0.5) * 20 * MS) / times, k === 0 ? OP.store : OP.load]);
        }
        return trace(touches);
      }),
    );
  },
});

const hotAndCold = (share: number, times: number): WorldKind => ({
  name: `${100 * share} % of the words ${times} times as hot`,
  make: (random) =>
    one(
      "unknown",
      words((word) => {
        const period = (word < share * WORDS ? 1 : times) * 2 * MS;
        const at: number[] = [];
        for (let t = random() * period; t < RUN_NS; t += period * (0.5 + random())) at.push(t);
        return loads(at);
      }),
    ),
});

const heavyTail = (sigma: number): WorldKind => ({
  name: `rates lognormal by word, sigma ${sigma}`,
  make: (random) =>
    one(
      "unknown",
      words(() => {
        const mean = 50 * MS * Math.exp(-sigma * normalDraw(random));
        const at: number[] = [];
        for (let t = mean * exponential(random); t < RUN_NS; t += Math.max(60_000, mean * exponential(random)))
          at.push(t);
        return loads(at);
      }),
    ),
});

/** How often each rewrite is read, by sigma. */
const REWRITE_READS = ["twice", "an uneven number of times", "a very uneven number of times"] as const;

const rewrites = (sigma: 0 | 1 | 2): WorldKind => ({
  name: `a ring rewritten every 30 ms, read ${REWRITE_READS[sigma]}`,
  make: (random) =>
    one(
      "activation",
      words(() => {
        const reads = sigma === 0 ? 2 : Math.max(1, Math.min(20, Math.round(2 * Math.exp(sigma * normalDraw(random)))));
        const hits: (readonly [number, number])[] = [];
        for (let t = (random() - 1) * 30 * MS; t < RUN_NS; t += 30 * MS) {
          hits.push([t, OP.store]);
          const last = (0.1 + 0.8 * random()) * 30 * MS;
          for (let k = 1; k <= reads; k++) hits.push([t + (last * k) / reads, OP.load]);
        }
        return trace(hits);
      }),
    ),
});

const heavyRewrites = (sigma: number): WorldKind => ({
  name: `rewrites at lognormal intervals by word, sigma ${sigma}`,
  make: (random) =>
    one(
      "activation",
      words(() => {
        const period = 40 * MS * Math.exp(sigma * normalDraw(random));
        const hits: (readonly [number, number])[] = [];
        for (let t = (random() - 1) * period; t < RUN_NS; t += Math.max(0.3 * MS, period * (0.8 + 0.4 * random()))) {
          hits.push([t, OP.store], [t + 0.5 * Math.max(0.3 * MS, 0.8 * period), OP.load]);
        }
        return trace(hits);
      }),
    ),
});

const inStep = (period: number): WorldKind => ({
  name: `all words touched at once, every ${period} ms`,
  make: (random) => {
    const phase = random() * period * MS;
    const at: number[] = [];
    for (let t = phase; t < RUN_NS; t += period * MS) at.push(t);
    return one(
      "weight",
      words(() => loads(at)),
      { token_period_ns: period * MS },
    );
  },
});

/** Two strata of unlike size: one read once in every period of `first` ms, the other, three times as large, of `second` ms. */
export const oneOfTwoPeriods = (first: number, second: number): WorldKind => ({
  name: `two strata, read every ${first} and every ${second} ms`,
  make: (random) => {
    const reads = (period: number, count: number): WordTrace[] =>
      words(() => {
        const mine = period * (0.5 + random()) * MS;
        const at: number[] = [];
        for (let t = random() * mine; t < RUN_NS; t += mine * (0.99 + 0.02 * random())) at.push(t);
        return loads(at);
      }, count);
    return {
      ...one("weight", []),
      strata: [
        { stratum: "weight/a", region_type: "weight", words: reads(first, WORDS / 4) },
        { stratum: "weight/b", region_type: "weight", words: reads(second, (3 * WORDS) / 4) },
      ],
    };
  },
});

const writtenAgain = (share: number): WorldKind => ({
  name: `${100 * share} % of the words written a second time, all once`,
  make: (random) =>
    one(
      "kv_cache",
      words(() => {
        const first = 0.9 * random() * RUN_NS;
        const hits: (readonly [number, number])[] = [[first, OP.store]];
        if (random() < share) hits.push([first + (0.02 + 0.98 * random()) * (RUN_NS - first), OP.store]);
        return trace(hits);
      }),
    ),
});

const stopped: WorldKind = {
  name: "the tracer is stopped for a second, twice",
  make: (random) => ({
    ...busyAndIdle(2, 2, 5 * MS).make(random),
    stopped_ns: [
      [3 * SECOND, 4 * SECOND],
      [11 * SECOND, 12 * SECOND],
    ],
  }),
};

/** The same as an engine tells of it that names its tensors. */
const named = ({ make, ...kind }: WorldKind): WorldKind => ({
  ...kind,
  make: (random) => ({ ...make(random), is_named: true }),
});

export const WORLDS: readonly WorldKind[] = [
  even,
  byTurns(5, 15),
  byTurns(2, 50),
  byTurns(1, 100),
  slowing(5),
  busyAndIdle(2, 2, 5 * MS),
  busyAndIdle(2, 2, null),
  busyAndIdle(1, 3, null),
  busyAndIdle(0.05, 0.15, 5 * MS),
  burst(8, 200),
  burst(40, 200),
  burst(8, 1000),
  burst(3, 60),
  burst(8, 1),
  burst(100, 1),
  burst(100, 100),
  mixture(0.2, 2, 20),
  mixture(0.05, 1, 100),
  mixture(0.5, 1, 8),
  mixture(0.01, 2, 200),
  hotAndCold(0.05, 10),
  hotAndCold(0.05, 1000),
  hotAndCold(0.05, 10_000),
  hotAndCold(0.005, 100),
  heavyTail(0.5),
  heavyTail(1.5),
  heavyTail(2.5),
  rewrites(0),
  rewrites(1),
  rewrites(2),
  heavyRewrites(0.5),
  heavyRewrites(1),
  heavyRewrites(2),
  heavyRewrites(3),
  inStep(5),
  inStep(10),
  oneOfTwoPeriods(5, 8),
  writtenAgain(0.1),
  writtenAgain(0.3),
  writtenAgain(0.7),
  stopped,
  ...CHANGING_WORLDS,
  ...RARE_WORLDS,
  ...STEP_WORLDS.map(named),
  ...UNLIKE_WORLDS,
  ...UNEVEN_WORLDS,
  ...SERVED_WORLDS.map(named),
  ...PRACTISED_WORLDS,
  ...BRIEF_WORLDS.map(named),
  ...LIVING_WORLDS,
  ...LIVES_IN_STEPS,
  ...BETWEEN_STEPS,
  ...UNLIKE_PASSES,
  ...LOSSY_WORLDS,
  ...DRAWN_WORLDS,
  ...FEW_BUSY_WORLDS,
  WRITTEN_BY_RANK,
  MANY_STRATA,
  SCRATCH_TOGETHER,
  ...ROW_CACHES,
  ...PACED_WORLDS,
  ...THREADED_WORLDS,
];

/** Worlds in which words, or the times of one word, are unlike each other, so that a byte that is used often counts for more in what is averaged over passes. */
export const UNLIKE_WORDS: readonly string[] = [
  burst(8, 200),
  mixture(0.2, 2, 20),
  hotAndCold(0.05, 10),
  hotAndCold(0.05, 1000),
  heavyTail(0.5),
  heavyTail(1.5),
  heavyTail(2.5),
  rewrites(1),
  heavyRewrites(1),
  heavyRewrites(2),
].map(({ name }) => name);
