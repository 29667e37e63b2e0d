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
  hits.filter((hit) => hit[0] >= 0 && hit[0] < run).sort((a, b) => a[0] - b[0]);

export function trace(hits: readonly Hit[], run = RUN_NS): WordTrace {
  const time_ns = new Float64Array(hits.length);
  const op = new Uint8Array(hits.length);
  let count = 0;
  let last = 0;
  for (const hit of hits) {
    const time = hit[0];
    if (!(time >= 0 && time < run)) continue;
    // Most of what worlds are made of is made in order: the rest is put in order first.
    if (time < last) return trace(inRun(hits, run), run);
    last = time;
    time_ns[count] = time;
    op[count++] = hit[1];
  }
  return { time_ns: time_ns.slice(0, count), op: op.slice(0, count) };
}

/** Traces of words, each by its accesses. */
export const traces = (all: readonly Hit[][], run = RUN_NS): WordTrace[] => all.map((hits) => trace(hits, run));

export function loads(times: readonly number[], run = RUN_NS): WordTrace {
  const all = new Float64Array(times.length);
  let count = 0;
  let last = 0;
  let isInOrder = true;
  for (const time of times) {
    if (!(time >= 0 && time < run)) continue;
    if (time < last) isInOrder = false;
    last = time;
    all[count++] = time;
  }
  const time_ns = all.slice(0, count);
  if (!isInOrder) time_ns.sort();
  return { time_ns, op: new Uint8Array(count).fill(OP.load) };
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
