/** Work by the steps of an engine, short and long beside the windows of watches, on a machine that stands still while it arms them. */
import type { StepSample } from "../../../src/analyse/input/input.ts";
import type { RegionType } from "../../../src/schema/words.ts";
import type { WordTrace, World, WorldKind } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { loads, MS, one, RUN_NS, SECOND, WORDS, words } from "./shapes.ts";

type Between = readonly [least: number, most: number];

const drawn = (random: Random, [least, most]: Between): number => least + (most - least) * random();

interface Engine {
  /** Of decode steps, ms. */
  readonly step: Between;
  /** Words that differ; a quarter of the usual number where absent. */
  readonly words?: number;
  /** Decode steps after each prompt, and how long one takes, ms; none where absent. */
  readonly prompts?: { readonly every: Between; readonly length: Between };
}

/** Steps one right after the other over the run; a decode step decodes 1 to 4 tokens. */
function stepsOf(random: Random, { step, prompts }: Engine): StepSample[] {
  const out: StepSample[] = [];
  const add = (kind: StepSample["step"], length: number, n_tokens: number): void => {
    const begin_ns = out.at(-1)?.end_ns ?? 0;
    out.push({ step: kind, begin_ns, end_ns: begin_ns + length * MS, n_tokens });
  };
  while ((out.at(-1)?.end_ns ?? 0) < RUN_NS) {
    if (prompts !== undefined) add("prefill", drawn(random, prompts.length), Math.ceil(drawn(random, [8, 64])));
    const many = prompts === undefined ? 1 : Math.round(drawn(random, prompts.every));
    for (let i = 0; i < many; i++) add("decode", drawn(random, step), Math.ceil(drawn(random, [0, 4])));
  }
  return out.filter(({ end_ns }) => end_ns <= RUN_NS);
}

const PROMPT_READS_NS = MS;

/** Words of which each is at its own place in every step; in a prompt they are gone over every millisecond. */
function inSteps(
  random: Random,
  steps: readonly StepSample[],
  count: number,
  isRead: (word: number, step: number) => number,
): WordTrace[] {
  return words((word) => {
    const place = random();
    const reads: number[] = [];
    for (const [i, { step, begin_ns, end_ns }] of steps.entries()) {
      const length = end_ns - begin_ns;
      const times = step === "prefill" ? Math.floor(length / PROMPT_READS_NS) : isRead(word, i);
      for (let k = 0; k < times; k++) reads.push(begin_ns + ((k + place) * length) / times);
    }
    return loads(reads);
  }, count);
}

const engine = (
  name: string,
  region_type: RegionType,
  shape: Engine,
  standstill_ns: number,
  readsOf: (random: Random, steps: readonly StepSample[]) => (word: number, step: number) => number = () => () => 1,
): WorldKind => ({
  name,
  make: (random): World => {
    const steps = stepsOf(random, shape);
    const list = inSteps(random, steps, shape.words ?? WORDS / 4, readsOf(random, steps));
    const token_period_ns = ((shape.step[0] + shape.step[1]) / 2) * MS;
    return one(region_type, list, { steps, token_period_ns, standstill_ns });
  },
});

const PROMPTS = { every: [8, 24], length: [6, 30] } as const;

/** So many words are in use at a time, others after half a second to a second and a half; each is read in every step meanwhile. */
const inUse =
  (share: number, reads: number) =>
  (random: Random, steps: readonly StepSample[]): ((word: number, step: number) => number) => {
    const turns: Set<number>[] = [];
    const turnOf: number[] = [];
    let until = 0;
    for (const { begin_ns } of steps) {
      if (begin_ns >= until) {
        turns.push(new Set(Array.from({ length: Math.round(share * WORDS) }, () => Math.floor(random() * WORDS))));
        until = begin_ns + SECOND * drawn(random, [0.5, 1.5]);
      }
      turnOf.push(turns.length - 1);
    }
    return (word, step) => (turns[turnOf[step] ?? 0]?.has(word) ? reads : 0);
  };

const seldom = (share: number) => (random: Random) => () => (random() < share ? 1 : 0);

const BUSY = 3 * MS;

/** Memory that is read by the clock, each 2.1 to 3.9 ms, whatever the steps are. */
const byClock = (name: string, step: Between, standstill_ns: number): WorldKind => ({
  name,
  make: (random): World => {
    const steps = stepsOf(random, { step });
    const list = words(() => {
      const times: number[] = [];
      for (let now = 3 * MS * random(); now < RUN_NS; now += MS * drawn(random, [2.1, 3.9])) times.push(now);
      return loads(times);
    }, WORDS / 4);
    return one("runtime", list, { steps, token_period_ns: ((step[0] + step[1]) / 2) * MS, standstill_ns });
  },
});

/** Steps of two lengths, one after the other; each word is read in the first four fifths of the shorter one. */
const byTurns = (short: number, long: number): WorldKind => ({
  name: `steps of ${short} and ${long} ms by turns`,
  make: (random): World => {
    const [both, steps]: [number, StepSample[]] = [short + long, []];
    for (let begin = 0; (begin + both) * MS <= RUN_NS; begin += both) {
      const [first, second, end] = [begin, begin + short, begin + both].map((time) => time * MS) as [
        number,
        number,
        number,
      ];
      steps.push({ step: "decode", begin_ns: first, end_ns: second, n_tokens: 1 });
      steps.push({ step: "decode", begin_ns: second, end_ns: end, n_tokens: 1 });
    }
    const list = words(() => {
      const place = 0.8 * short * MS * random();
      return loads(steps.map(({ begin_ns }) => begin_ns + place));
    });
    return one("weight", list, { steps, token_period_ns: (both / 2) * MS });
  },
});

export const STEP_WORLDS: readonly WorldKind[] = [
  byTurns(5, 15),
  engine(
    "steps of 2 to 6 ms between prompts, 3 ms still at an arming",
    "weight",
    { step: [2, 6], prompts: PROMPTS },
    BUSY,
  ),
  engine(
    "a prompt of 20 to 40 ms before each step of 5 to 11 ms, 1 ms still",
    "weight",
    { step: [5, 11], prompts: { every: [1, 1], length: [20, 40] } },
    MS,
  ),
  byClock("read each 3 ms beside steps of 4 to 8 ms, 3 ms still", [4, 8], BUSY),
  engine("steps of 2 to 6 ms, 75 us still at an arming", "weight", { step: [2, 6] }, 0.075 * MS),
  engine(
    "steps of 2 to 6 ms, 3 ms still, a word read in one of 40",
    "activation",
    { step: [2, 6] },
    BUSY,
    seldom(1 / 40),
  ),
  engine("steps of 20 to 60 ms, 3 ms still at an arming", "weight", { step: [20, 60] }, BUSY),
  engine("steps of 300 to 900 ms, 3 ms still at an arming", "weight", { step: [300, 900] }, BUSY),
  engine("steps of 2 to 6 ms, 3 ms still, 6 reads of a word in each", "weight", { step: [2, 6] }, BUSY, () => () => 6),
  engine(
    "2 % of the words in use, read once in each step",
    "kv_cache",
    { step: [2, 6], words: WORDS },
    BUSY,
    inUse(0.02, 1),
  ),
  engine(
    "0.25 % of the words in use, read once in each step",
    "kv_cache",
    { step: [2, 6], words: WORDS },
    BUSY,
    inUse(0.0025, 1),
  ),
  engine(
    "0.25 % of the words in use, read 4 times in each step",
    "kv_cache",
    { step: [2, 6], words: WORDS },
    BUSY,
    inUse(0.0025, 4),
  ),
];
