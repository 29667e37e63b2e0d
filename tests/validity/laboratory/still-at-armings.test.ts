/** Engines that stand still at armings: for longer than the windows are in which passes are counted, and for a small part of a step. The seeds are fixed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { interAccessInterval } from "../../../src/analyse/metrics/inter-access-interval.ts";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { retention } from "../../../src/analyse/metrics/retention.ts";
import { OP } from "../../../src/schema/operation.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { WorldKind } from "../../../src/simulate/world.ts";
import { loads, MS, one, RUN_NS, trace, words } from "./shapes.ts";

setDefaultTimeout(180_000);

const SEEDS = 4;
const WORDS_USED = 200;
/** Reads of a word in a step lie in this part of it. */
const TOGETHER = 0.1;

/** Decode steps of a token over the run. */
function stepsOf(lengthNs: () => number, pauseNs = 0): StepSample[] {
  const steps: StepSample[] = [];
  for (let begin_ns = 0; ; ) {
    const end_ns = begin_ns + lengthNs();
    if (end_ns > RUN_NS) return steps;
    steps.push({ step: "decode", begin_ns, end_ns, n_tokens: 1 });
    begin_ns = end_ns + pauseNs;
  }
}

const bursts = (reads: number): WorldKind => ({
  name: `${reads} reads together in each step of 2 to 6 ms, 3 ms still at an arming`,
  make: (random) => {
    const steps = stepsOf(() => MS * (2 + 4 * random()));
    const list = words(() => {
      const place = random();
      const at = (k: number): number => (1 - TOGETHER) * place + (TOGETHER * (k + place)) / reads;
      return loads(
        steps.flatMap(({ begin_ns, end_ns }) =>
          Array.from({ length: reads }, (_, k) => begin_ns + at(k) * (end_ns - begin_ns)),
        ),
      );
    }, 100);
    return one("weight", list, { steps, token_period_ns: 4 * MS, standstill_ns: 3 * MS });
  },
});

for (const reads of [8, 12]) {
  test(`figures are true where ${reads} reads together end a watch within the time for which its arming holds a program up`, () => {
    const asked = ["read_bytes_per_s", "reads_per_byte_per_token", "iai_p50_ns"];
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => asked.includes(name)));
    const rows = coverageOf(bursts(reads), { seeds: SEEDS, families });
    const wrong = rows.filter(({ ok, held, bound, right }) => held < ok || right < bound);
    expect(wrong.map(({ metric, phase }) => `${metric} of ${phase}`)).toEqual([]);
    const told = rows.find(({ metric, phase }) => metric === "read_bytes_per_s" && phase === "all");
    expect((told?.ok ?? 0) + (told?.bound ?? 0)).toBe(SEEDS);
  });
}

/** Steps of about one length, in each of which a word is used at some parts of it. */
function evenSteps(name: string, use: (word: number) => readonly (readonly [share: number, op: number])[]): WorldKind {
  return {
    name: `${name} in each step of 14 to 16 ms, 0.5 ms still at an arming`,
    make: (random) => {
      const steps = stepsOf(() => MS * (14.2 + 1.5 * random()), 0.1 * MS);
      const list = words(
        (word) =>
          trace(
            steps.flatMap(({ begin_ns, end_ns }) =>
              use(word / WORDS_USED).map(([share, op]) => [begin_ns + share * (end_ns - begin_ns), op] as const),
            ),
          ),
        WORDS_USED,
      );
      return one("activation", list, { steps, token_period_ns: 15 * MS, standstill_ns: 0.5 * MS });
    },
  };
}

// What an arming adds to a few of them is more than their intervals are wide.
test.each([
  [evenSteps("read once", (word) => [[word, OP.load]]), interAccessInterval, "iai_p90_ns"],
  [
    evenSteps("written, and read 0.9 of it later,", (word) => [
      [0.05 * word, OP.store],
      [0.9 + 0.05 * word, OP.load],
    ]),
    retention,
    "retention_p90_ns",
  ],
] as const)("times are true where each arming makes some longer: of words $name", (kind, family, metric) => {
  const rows = coverageOf(kind, { seeds: 12, first: 600001, families: [family] });
  expect(rows.find((row) => row.metric === metric)?.ok).toBeGreaterThanOrEqual(10);
  for (const row of rows) {
    expect([row.metric, row.right, row.held >= row.ok - 1]).toEqual([row.metric, row.bound, true]);
  }
});
