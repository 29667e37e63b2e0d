/** An engine whose steps are short for some seconds, then long: watches are given so many tokens, and hold other steps then. The seeds are fixed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { World, WorldKind } from "../../../src/simulate/world.ts";
import { firstIndex } from "../../../src/statistics/first-index.ts";
import { loads, MS, one, RUN_NS, SECOND, words } from "./shapes.ts";

setDefaultTimeout(180_000);

const SEEDS = 12;
const [SHORT, LONG] = [4 * MS, 20 * MS];
/** The tracer takes the median of so many. */
const LAST_STEPS = 32;

const lengthOf = (step: StepSample | undefined): number => (step === undefined ? 0 : step.end_ns - step.begin_ns);

const periodBefore =
  (steps: readonly StepSample[]) =>
  (now: number): number => {
    const done = firstIndex(steps.length, (k) => (steps[k]?.end_ns ?? 0) <= now);
    const lengths = steps.slice(Math.max(0, done - LAST_STEPS), Math.max(1, done)).map(lengthOf);
    return lengths.sort((a, b) => a - b)[lengths.length >> 1] ?? 0;
  };

/** Each word is read once in a short step, and so often in a long one. */
const engine = (inLong: number): WorldKind => ({
  name: `steps of 4 and 20 ms by turns of some seconds, ${inLong} reads in a long one`,
  make: (random): World => {
    const steps: StepSample[] = [];
    let isShort = random() < 0.5;
    for (let now = 0; now + LONG <= RUN_NS; isShort = !isShort) {
      const until = Math.min(RUN_NS - LONG, now + SECOND * (2 + 2 * random()));
      while (now <= until) {
        const end_ns = now + (isShort ? SHORT : LONG) * (0.9 + 0.2 * random());
        steps.push({ step: "decode", begin_ns: now, end_ns, n_tokens: 1 });
        now = end_ns;
      }
    }
    const list = words(() => {
      const place = random();
      return loads(
        steps.flatMap((step) => {
          const length = lengthOf(step);
          const times = length > LONG / 2 ? inLong : 1;
          return Array.from({ length: times }, (_, k) => step.begin_ns + ((k + place) * length) / times);
        }),
      );
    }, 100);
    return one("weight", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

for (const inLong of [0, 4]) {
  test(`reads per token are right where a long step has ${inLong} and a short one has one`, () => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "reads_per_byte_per_token"));
    const rows = coverageOf(engine(inLong), { seeds: SEEDS, families });
    const { ok, held, ratio } = rows.find(({ metric }) => metric === "reads_per_byte_per_token") ?? {};
    expect(ok).toBe(SEEDS);
    expect(held ?? 0).toBeGreaterThanOrEqual(SEEDS - 1);
    expect(ratio).toBeWithin(0.97, 1.03);
  });
}
