/** Bursts that end a watch each, of an engine that stands still at armings for longer than the windows are in which passes are counted. The seeds are fixed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { WorldKind } from "../../../src/simulate/world.ts";
import { loads, MS, one, RUN_NS, words } from "./shapes.ts";

setDefaultTimeout(180_000);

const SEEDS = 4;
/** Reads of a word in a step lie in this part of it. */
const TOGETHER = 0.1;

const bursts = (reads: number): WorldKind => ({
  name: `${reads} reads together in each step of 2 to 6 ms, 3 ms still at an arming`,
  make: (random) => {
    const steps: StepSample[] = [];
    for (let begin_ns = 0; ; ) {
      const end_ns = begin_ns + MS * (2 + 4 * random());
      if (end_ns > RUN_NS) break;
      steps.push({ step: "decode", begin_ns, end_ns, n_tokens: 1 });
      begin_ns = end_ns;
    }
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
