/** What worlds are made of: traces of words, tokens of even and uneven length, random numbers of several shapes. */
import { OP } from "../../../src/schema/operation.ts";
import type { WordTrace, World, WorldStratum } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";

export const MS = 1e6;
export const SECOND = 1e9;
export const RUN_NS = 20 * SECOND;
export const WORDS = 400;

export const exponential = (random: Random): number => -Math.log(1 - random());

/** One access of a word. */
export type Hit = readonly [time: number, op: number];

/** Those within the run, in order of time. */
export const inRun = <One extends readonly [time: number, ...number[]]>(hits: readonly One[], run: number): One[] =>
  hits.filter(([time]) => time >= 0 && time < run).sort((a, b) => a[0] - b[0]);

export function trace(hits: Hit[], run = RUN_NS): WordTrace {
  const inside = inRun(hits, run);
  const time_ns = new Float64Array(inside.length);
  const op = new Uint8Array(inside.length);
  inside.forEach(([time, kind], i) => {
    time_ns[i] = time;
    op[i] = kind;
  });
  return { time_ns, op };
}

/** Traces of words, each by its accesses. */
export const traces = (all: readonly Hit[][], run = RUN_NS): WordTrace[] => all.map((hits) => trace(hits, run));

export function loads(times: readonly number[], run = RUN_NS): WordTrace {
  const time_ns = new Float64Array(times.filter((time) => time >= 0 && time < run)).sort();
  return { time_ns, op: new Uint8Array(time_ns.length).fill(OP.load) };
}

/** Times from `from` on, one after the other by `gap`, up to `end`. */
export function timesFrom(from: number, end: number, gap: () => number): number[] {
  const out: number[] = [];
  for (let t = from; t < end; t += gap()) out.push(t);
  return out;
}

/** Begins of tokens of lengths that `next` gives, over the run. */
export function tokens(random: Random, next: (i: number, now: number) => number, run = RUN_NS): number[] {
  const out: number[] = [];
  for (let now = -random() * next(0, 0), i = 0; now < run; i++) {
    out.push(now);
    now += next(i, now);
  }
  return out;
}

export const words = (make: (word: number) => WordTrace, count = WORDS): WordTrace[] =>
  Array.from({ length: count }, (_, word) => make(word));

/** A world of one stratum without an engine. */
export function one(
  region_type: WorldStratum["region_type"],
  list: readonly WordTrace[],
  rest: Partial<World> = {},
): World {
  return {
    run_ns: RUN_NS,
    token_period_ns: null,
    steps: [],
    strata: [{ stratum: region_type, region_type, words: list }],
    ...rest,
  };
}

/** Each word is read once in every token, at its own place in it. */
export const oncePerToken = (random: Random, begins: readonly number[], length: number): WordTrace[] =>
  words(() => {
    const place = random() * length;
    return loads(begins.map((begin) => begin + place));
  });
