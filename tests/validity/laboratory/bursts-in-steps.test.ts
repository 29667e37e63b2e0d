/** Words that are read more often in one step than the usual watch can count, and seldom: windows end before most of the bursts that were drawn. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { readBytesPerSecond, readsPerBytePerToken } from "../../../src/analyse/metrics/byte-rates.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { World } from "../../../src/simulate/world.ts";
import type { Random } from "../../../src/statistics/prng.ts";
import { loads, MS, one, RUN_NS, words } from "./shapes.ts";

setDefaultTimeout(180_000);

const STEP_NS = 8 * MS;
const [READS, APART_NS] = [14, 0.12 * MS];
const EVERY_NS = 1000 * MS;

function stepsOf(random: Random): StepSample[] {
  const steps: StepSample[] = [];
  for (let begin_ns = 0; ; ) {
    const end_ns = begin_ns + STEP_NS * (0.7 + 0.6 * random());
    if (end_ns > RUN_NS) return steps;
    steps.push({ step: "decode", begin_ns, end_ns, n_tokens: 1 });
    begin_ns = end_ns;
  }
}

/** Each word is read 14 times in a step now and then, once a second in the mean. */
function bursts(random: Random): World {
  const word = () => {
    const times: number[] = [];
    for (let time = -EVERY_NS * random(); time < RUN_NS; time += EVERY_NS * (0.5 + random()))
      times.push(...Array.from({ length: READS }, (_, k) => time + k * APART_NS));
    return loads(times);
  };
  return one("activation", words(word, 40), { steps: stepsOf(random), token_period_ns: STEP_NS, is_named: true });
}

test("upper ends of sums hold the truth where bursts in one step have more reads than the usual watch can count", () => {
  const families = [readBytesPerSecond, readsPerBytePerToken];
  const rows = coverageOf({ name: "bursts in steps", make: bursts }, { seeds: 40, first: 8401, families });
  const sums = rows.filter(({ phase }) => phase === "generation");
  expect(sums.length).toBe(2);
  for (const { ok, held, bound, right } of sums) {
    expect(ok + bound).toBe(40);
    expect(held + right).toBeGreaterThanOrEqual(38);
  }
});
