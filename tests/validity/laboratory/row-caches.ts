/** Caches that an engine fills row by row, a row with each token, of which the watches draw rows before they are written. */
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { OP } from "../../../src/schema/operation.ts";
import type { CacheRows, World, WorldKind, WorldStratum } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { between, part, world } from "./served/parts.ts";
import { type Hit, loads, MS, RUN_NS, SECOND, trace, words } from "./shapes.ts";

/** Rows of the prompt, which were there before the run, and those behind the last one that is written. */
const PROMPT = 100;
const UNUSED = 100;
const WORDS_PER_ROW = 2;
const STEP_MS = 40;

/** Steps of 30 to 50 ms, of as many tokens as `tokensOf` says. */
function stepsOf(random: Random, run = RUN_NS, tokensOf: (begin_ns: number) => number = () => 1): StepSample[] {
  const steps: StepSample[] = [];
  for (let now = 0; ; ) {
    const end_ns = now + between(random, 0.75 * STEP_MS, 1.25 * STEP_MS) * MS;
    if (end_ns > run) return steps;
    steps.push({ step: "decode", begin_ns: now, end_ns, n_tokens: tokensOf(now) });
    now = end_ns + between(random, 0.2, 2) * MS;
  }
}

interface Cache {
  readonly steps: readonly StepSample[];
  /** True where a step reads a row that was there before it; `head` is the row of its first token. */
  readonly isRead: (row: number, step: number, head: number) => boolean;
  readonly sequences?: CacheRows["sequences"];
  /** True where a step reads a word of the weights; all steps read all where absent. */
  readonly isUsed?: (word: number, step: number) => boolean;
  /** Rows that each step writes, of which those of its tokens stay; one where absent. */
  readonly written?: number;
  readonly run?: number;
}

/** K and V of one layer, and the weights beside them, each read once in a step that uses it; rows are written before they are read, V after K. */
function cached(random: Random, cache: Cache): World {
  const { steps, isRead, sequences = 1, isUsed = () => true, written = 1, run = RUN_NS } = cache;
  const heads = [PROMPT];
  for (const { n_tokens } of steps) heads.push((heads.at(-1) ?? 0) + n_tokens);
  const room = (heads.at(-1) ?? 0) + written + UNUSED;
  const rows = { words: WORDS_PER_ROW, first: PROMPT, sequences };
  const strata = ["k", "v"].map((name, i): WorldStratum => {
    const usesOf = (row: number): Hit[] =>
      steps.flatMap(({ begin_ns, end_ns }, k): Hit[] => {
        const head = heads[k] ?? 0;
        if (row >= head + written) return [];
        const inStep = (share: number): number => begin_ns + share * (end_ns - begin_ns);
        const isNew = row >= head;
        const read: Hit[] =
          isNew || isRead(row, k, head) ? [[inStep(0.4 + 0.3 * i + (0.25 * row) / room), OP.load]] : [];
        return isNew ? [[inStep(0.2 + 0.1 * i), OP.store], ...read] : read;
      });
    const list = Array.from({ length: room }, (_, row) => trace(usesOf(row), run));
    return part(
      "kv_cache",
      name,
      list.flatMap((one) => Array<typeof one>(WORDS_PER_ROW).fill(one)),
      { rows },
    );
  });
  const weights = words((word) => {
    const place = random();
    const mine = steps.filter((_, k) => isUsed(word, k));
    return loads(
      mine.map(({ begin_ns, end_ns }) => begin_ns + place * (end_ns - begin_ns)),
      run,
    );
  });
  const all = [...strata, part("weight", "f16", weights)];
  return world(run, all, { steps, token_period_ns: STEP_MS * MS, is_named: true });
}

const inFull: WorldKind = {
  name: "a cache that each step of 30 to 50 ms gives a row and reads in full",
  make: (random) => cached(random, { steps: stepsOf(random), isRead: () => true }),
};

const byTwo: WorldKind = {
  name: "a cache of two sequences by turns, each of which reads its own rows",
  make: (random) => cached(random, { steps: stepsOf(random), isRead: (row, k) => (row + k) % 2 === 0, sequences: 2 }),
};

/** Rows at the begin that each step reads, and those before its own. */
const SINKS = 4;
const NEAR = 32;

const unevenly: WorldKind = {
  name: "a cache of which each step reads the first 4 rows, the last 32 and one of 20 others",
  make: (random) => {
    const isRead: Cache["isRead"] = (row, _, head) => row < SINKS || row >= head - NEAR || random() < 1 / 20;
    return cached(random, { steps: stepsOf(random), isRead });
  },
};

export const ROW_CACHES: readonly WorldKind[] = [inFull, byTwo, unevenly];

const GUESSED = 4;
const TURN_NS = 4 * SECOND;
const LONG_NS = 60 * SECOND;

/** Where guesses are good, a step moves on by four rows and none is written twice; else by one, and three of its rows are written again. */
export const GUESSED_ROWS: WorldKind = {
  name: "a cache to which each step writes 4 rows, of which all stay for 4 s and the first one for another 4 s by turns, 60 s",
  make: (random) => {
    const from = TURN_NS * random();
    const isGood = (now: number): boolean => Math.floor((now + from) / TURN_NS) % 2 === 0;
    const steps = stepsOf(random, LONG_NS, (now) => (isGood(now) ? GUESSED : 1));
    return cached(random, { steps, isRead: (row, _, head) => row >= head - NEAR, written: GUESSED, run: LONG_NS });
  },
};

/** One sequence, then several, by turns: of the latter each step reads all rows, of the former one in eight. */
export const ONE_AND_SEVERAL: WorldKind = {
  name: "a cache of one sequence and of several by turns of 4 s, 60 s",
  make: (random) => {
    const from = TURN_NS * random();
    const isOne = (now: number): boolean => Math.floor((now + from) / TURN_NS) % 2 === 0;
    const steps = stepsOf(random, LONG_NS, () => 1);
    const isRead: Cache["isRead"] = (row, k) => !isOne(steps[k]?.begin_ns ?? 0) || (row + k) % 8 === 0;
    return cached(random, { steps, isRead, sequences: (now) => (isOne(now) ? 1 : 4), run: LONG_NS });
  },
};

const SPELL_NS = 20 * SECOND;
const LONGEST_NS = 120 * SECOND;

/** One sequence, whose steps use an eighth of the weights, then several, whose steps use all, as of the experts of a mixture. */
export const EXPERTS: WorldKind = {
  name: "a cache of one sequence and of several by turns of 20 s, and weights of which the steps of one use an eighth, 120 s",
  make: (random) => {
    const from = SPELL_NS * random();
    const isOne = (now: number): boolean => Math.floor((now + from) / SPELL_NS) % 2 === 0;
    const steps = stepsOf(random, LONGEST_NS, () => 1);
    const isUsed: Cache["isUsed"] = (word, k) => !isOne(steps[k]?.begin_ns ?? 0) || (word + k) % 8 === 0;
    const isRead: Cache["isRead"] = (row, _, head) => row >= head - NEAR;
    return cached(random, { steps, isRead, isUsed, sequences: (now) => (isOne(now) ? 1 : 4), run: LONGEST_NS });
  },
};
