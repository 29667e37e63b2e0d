/** The truth that coverage is counted against, which is computed fast for many runs, is that of the definitions, computed plainly. */
import { describe, expect, test } from "bun:test";
import type { Span } from "../../../src/analyse/input/span.ts";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { OP } from "../../../src/schema/operation.ts";
import { truthOf, truthOfSteps } from "../../../src/simulate/reference.ts";
import type { Truth } from "../../../src/simulate/true-quantiles.ts";
import type { WordTrace, WorldStratum } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { REFERENCES, STEP_REFERENCES, type Steps, type Trace, type Word } from "./reference.ts";

const RUN_NS = 2e9;
const GAP_NS = 50_000;
const OPS = [OP.load, OP.load, OP.store, OP.load_store];
const WORLDS = 60;

/** Words of all kinds: often and seldom used, in bursts and alone, written or not, there from the begin on or not, freed or not. */
function wordOf(random: () => number): Word {
  const count = Math.floor(12 * random() ** 2);
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const before = times.at(-1) ?? 0;
    times.push(Math.round(random() < 0.4 ? before + 2 * GAP_NS * random() : before + 1 + random() * (RUN_NS - before)));
  }
  const inRun = times.filter((time) => time < RUN_NS);
  const hits = inRun.map((time) => [time, OPS[Math.floor(random() * OPS.length)] ?? OP.load] as const);
  const last = hits.at(-1)?.[0] ?? 0;
  const first = hits[0]?.[0] ?? RUN_NS / 2;
  const born_ns = random() < 0.3 ? Math.round(first * random()) : 0;
  return { hits, born_ns, freed_ns: random() < 0.3 ? Math.round(last + 1 + random() * (RUN_NS - last - 2)) : null };
}

function traceOf({ hits, freed_ns }: Word): WordTrace {
  return {
    time_ns: Float64Array.from(hits, ([time]) => time),
    op: Uint8Array.from(hits, ([, op]) => op),
    ...(freed_ns === null ? {} : { freed_ns }),
  };
}

/** A world of two strata of memory that is there from the begin on, one for each word that comes later, and its trace. */
function worldOf(random: () => number): { readonly world: WorldStratum[]; readonly trace: Trace } {
  const strata = [1, 3].map((repeats) => ({ words: Array.from({ length: 15 }, () => wordOf(random)), repeats }));
  const world = strata.flatMap(({ words, repeats }): WorldStratum[] => {
    const stratum = { stratum: "heap", region_type: "activation", repeats } as const;
    const late = words.filter(({ born_ns }) => born_ns > 0);
    return [
      { ...stratum, words: words.filter(({ born_ns }) => born_ns === 0).map(traceOf) },
      ...late.map((word): WorldStratum => {
        const life_ns = [word.born_ns, word.freed_ns ?? Number.POSITIVE_INFINITY] as const;
        return { ...stratum, words: [traceOf({ ...word, freed_ns: null })], life_ns };
      }),
    ];
  });
  const words = strata.flatMap((stratum) => Array.from({ length: stratum.repeats }, () => stratum.words).flat());
  return { world, trace: { words, run_ns: RUN_NS, gap_ns: GAP_NS } };
}

/** Steps of uneven length with pauses between them, some of which are shorter than two turns. */
function stepsOf(random: () => number): Steps {
  const edges = Array.from({ length: 12 }, () => Math.round(random() * RUN_NS)).sort((a, b) => a - b);
  const pieces = Array.from({ length: 6 }, (_, i) => [edges[2 * i] ?? 0, edges[2 * i + 1] ?? 0] as const);
  return { pieces, tokens: 1 + Math.floor(9 * random()), turn_ns: 0.05 * RUN_NS * random() };
}

function spanOf({ pieces, tokens, turn_ns }: Steps): Span {
  const [begin_ns, end_ns] = [0, 1].map((end) => Float64Array.from(pieces, (piece) => piece[end] ?? 0));
  const none = new Float64Array(0);
  return {
    phase: "generation",
    step: "decode",
    begin_ns: begin_ns ?? none,
    end_ns: end_ns ?? none,
    window_ns: pieces.reduce((sum, [begin, end]) => sum + end - begin, 0),
    tokens,
    turn_ns,
    steps: {
      ...{ begin_ns: none, end_ns: none, turn_end_ns: none, other_begin_ns: none, other_end_ns: none },
      ...{ tokens: none, kind: [], counts: { prefill: none, decode: none } },
    },
    parts: [],
  };
}

const rounded = (truth: Truth | null) => truth && [truth.lo, truth.hi].map((end) => end.toPrecision(9));

describe("every figure that the laboratory judges", () => {
  const judged = [...truthOf([], RUN_NS, GAP_NS).keys()].sort();

  test("has a definition as code, and so has every figure of watches over a whole phase", () => {
    expect(Object.keys(REFERENCES).sort()).toEqual(judged);
    const watched = METRICS.filter(({ sources, spans, metrics }) => {
      const isWatched = sources.some(([source]) => source === "watch");
      return isWatched && spans !== "steps" && metrics.every(({ unit }) => unit !== "label");
    }).flatMap(({ metrics }) => metrics.map(({ name }) => name));
    // What a step needs is the engine's word, of which no watch tells.
    expect(watched.filter((name) => name !== "needs_per_write").sort()).toEqual(judged);
  });

  test.each(judged)("is what its definition says, in worlds of all kinds: %s", (metric) => {
    for (let seed = 1; seed <= WORLDS; seed++) {
      const { world, trace } = worldOf(seededRandom(seed, 3));
      const fast = truthOf(world, RUN_NS, GAP_NS).get(metric) ?? null;
      expect([seed, rounded(fast)]).toEqual([seed, rounded(REFERENCES[metric]?.(trace) ?? null)]);
    }
  });
});

describe("every figure of steps that the laboratory judges", () => {
  const judged = [...truthOfSteps([], spanOf({ pieces: [], tokens: 0, turn_ns: 1 }), GAP_NS).keys()].sort();

  test("has a definition as code", () => {
    expect(Object.keys(STEP_REFERENCES).sort()).toEqual(judged);
  });

  test.each(judged)("is what its definition says, in worlds of all kinds: %s", (metric) => {
    for (let seed = 1; seed <= WORLDS; seed++) {
      const random = seededRandom(seed, 4);
      const { world, trace } = worldOf(random);
      const steps = stepsOf(random);
      const fast = truthOfSteps(world, spanOf(steps), GAP_NS).get(metric) ?? null;
      expect([seed, rounded(fast)]).toEqual([seed, rounded(STEP_REFERENCES[metric]?.(trace, steps) ?? null)]);
    }
  });
});
