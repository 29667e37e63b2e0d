/** Threads on CPUs of their own, which share words or divide them: each CPU has its registers, its ring and its budget. */
import { OP } from "../../../src/schema/operation.ts";
import type { WordTrace, WorldKind } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { exponential, inRun, MS, one, RUN_NS, SECOND, timesFrom, tokens, WORDS, words } from "./shapes.ts";

const US = 1000;
const TOKEN_NS = 10 * MS;

/** One access of a word, by the thread of a CPU. */
type ThreadHit = readonly [time: number, op: number, cpu: number];

function traceOf(hits: readonly ThreadHit[]): WordTrace {
  const inside = inRun(hits, RUN_NS);
  const time_ns = new Float64Array(inside.length);
  const op = new Uint8Array(inside.length);
  const cpu = new Uint8Array(inside.length);
  inside.forEach((hit, i) => {
    time_ns[i] = hit[0];
    op[i] = hit[1];
    cpu[i] = hit[2];
  });
  return { time_ns, op, cpu };
}

const oneOf = (random: Random, count: number): number => Math.floor(random() * count);

/** Weights of which each thread reads its own part of a token, or whatever part is left. */
const divided = (threads: number, fixed: boolean): WorldKind => ({
  name: `weights read once a token by one of ${threads} threads, ${fixed ? "always the same" : "any of them"}`,
  make: (random) => {
    const begins = tokens(random, () => TOKEN_NS);
    const list = words((word) => {
      const place = 0.9 * TOKEN_NS * random();
      const own = word % threads;
      return traceOf(begins.map((begin) => [begin + place, OP.load, fixed ? own : oneOf(random, threads)]));
    });
    return one("weight", list, { cpus: threads, token_period_ns: TOKEN_NS });
  },
});

/** Words that one thread writes in each token, and all of them read then. */
const readByAll = (threads: number, withinUs: number): WorldKind => ({
  name: `words written by one thread and read by ${threads} within ${withinUs} us, every 10 ms`,
  make: (random) => {
    const begins = tokens(random, () => TOKEN_NS);
    const list = words(() => {
      const place = 0.5 * TOKEN_NS * random();
      const after = 0.3 * TOKEN_NS * random();
      return traceOf(
        begins.flatMap((begin): ThreadHit[] => [
          [begin + place, OP.store, oneOf(random, threads)],
          ...Array.from(
            { length: threads },
            (_, cpu): ThreadHit => [begin + place + after + withinUs * US * random(), OP.load, cpu],
          ),
        ]),
      );
    }, WORDS / threads);
    return one("activation", list, { cpus: threads });
  },
});

/** One thread works all the time, another for two seconds of four, each on words of its own. */
const halfIdle = (times: number): WorldKind => ({
  name: `a thread beside one that is ${times} times as fast and works for 2 s of each 4`,
  make: (random) => {
    const phase = 4 * SECOND * random();
    const isBusy = (time: number): boolean => (time + phase) % (4 * SECOND) < 2 * SECOND;
    const list = words((word) => {
      const cpu = word % 2;
      const period = cpu === 0 ? 10 * MS : (10 * MS) / times;
      const all = timesFrom(period * random(), RUN_NS, () => period * (0.8 + 0.4 * random()));
      const mine = cpu === 0 ? all : all.filter(isBusy);
      return traceOf(mine.map((time, i) => [time, i % 3 === 0 ? OP.store : OP.load, cpu]));
    }, WORDS / 2);
    return one("unknown", list, { cpus: 2 });
  },
});

/** Counters that threads add to, each thread so many times less often than the one before it. */
const counted = (threads: number, times: number): WorldKind => ({
  name: `counters that ${threads} threads add to, each ${times} times as often as the next`,
  make: (random) => {
    const list = words(
      () =>
        traceOf(
          Array.from({ length: threads }, (_, cpu) => cpu).flatMap((cpu) =>
            timesFrom(0, RUN_NS, () => 3 * US + 4 * MS * times ** cpu * exponential(random)).map(
              (time): ThreadHit => [time, OP.load_store, cpu],
            ),
          ),
        ),
      WORDS / 4,
    );
    return one("runtime", list, { cpus: threads });
  },
});

/** A thread that goes from CPU to CPU. */
const moving = (everyMs: number): WorldKind => ({
  name: `one thread that is on another of 4 CPUs every ${everyMs} ms`,
  make: (random) => {
    const begins = tokens(random, () => TOKEN_NS);
    const cpus = Uint8Array.from({ length: Math.ceil(RUN_NS / (everyMs * MS)) }, () => oneOf(random, 4));
    const cpuOf = (time: number): number => cpus[Math.floor(time / (everyMs * MS))] ?? 0;
    const list = words(() => {
      const place = 0.9 * TOKEN_NS * random();
      return traceOf(
        begins.flatMap((begin) => {
          const first = begin + place;
          return [first, first + 20 * US, first + 300 * US].map(
            (time, i): ThreadHit => [time, i === 0 ? OP.store : OP.load, cpuOf(time)],
          );
        }),
      );
    }, WORDS / 2);
    return one("activation", list, { cpus: 4 });
  },
});

export const THREADED_WORLDS: readonly WorldKind[] = [
  divided(2, true),
  divided(4, false),
  readByAll(2, 5),
  readByAll(4, 100),
  readByAll(16, 20),
  halfIdle(1),
  halfIdle(5),
  halfIdle(20),
  counted(2, 1),
  counted(4, 3),
  counted(8, 2),
  moving(3),
  moving(100),
];
