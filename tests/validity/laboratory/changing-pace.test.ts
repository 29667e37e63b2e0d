/** An engine whose steps are short for some seconds, then long: watches are given so many tokens, and hold other steps then. The seeds are fixed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { StepSample } from "../../../src/analyse/input/input.ts";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import type { World, WorldKind } from "../../../src/simulate/world.ts";
import { firstIndex } from "../../../src/statistics/first-index.ts";
import { loads, MS, one, RUN_NS, SECOND, timesFrom, words } from "./shapes.ts";

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

/** Steps of both lengths by turns of some seconds, and these turns. */
function stepsByTurns(
  random: () => number,
  long = LONG,
): {
  steps: StepSample[];
  turns: (readonly [from: number, end: number, isShort: boolean])[];
} {
  const steps: StepSample[] = [];
  const turns: (readonly [number, number, boolean])[] = [];
  let isShort = random() < 0.5;
  for (let now = 0; now + long <= RUN_NS; isShort = !isShort) {
    const from = now;
    const until = Math.min(RUN_NS - long, now + SECOND * (2 + 2 * random()));
    while (now <= until) {
      const end_ns = now + (isShort ? SHORT : long) * (0.9 + 0.2 * random());
      steps.push({ step: "decode", begin_ns: now, end_ns, n_tokens: 1 });
      now = end_ns;
    }
    turns.push([from, now, isShort]);
  }
  return { steps, turns };
}

/** Each word is read once in a short step, and so often in a long one. */
const engine = (inLong: number): WorldKind => ({
  name: `steps of 4 and 20 ms by turns of some seconds, ${inLong} reads in a long one`,
  make: (random): World => {
    const { steps } = stepsByTurns(random);
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

/** Words of a step of one length have three accesses in a pass, those of the other one. */
const bursts = (inShort: number, inLong: number): WorldKind => ({
  name: `a pass has ${inShort} accesses in a short step and ${inLong} in a long one`,
  make: (random): World => {
    const { steps } = stepsByTurns(random);
    const list = words(() => {
      const place = 0.8 * random();
      return loads(
        steps.flatMap((step) => {
          const begin = step.begin_ns + place * lengthOf(step);
          const count = lengthOf(step) > LONG / 2 ? inLong : inShort;
          return Array.from({ length: count }, (_, k) => begin + 0.01 * MS * k);
        }),
      );
    }, 100);
    return one("weight", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

for (const [inShort, inLong] of [
  [1, 3],
  [3, 1],
] as const) {
  test(`accesses per pass are right where a pass of a short step has ${inShort} and one of a long step ${inLong}`, () => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "hits_per_pass"));
    const rows = coverageOf(bursts(inShort, inLong), { seeds: SEEDS, families });
    for (const phase of ["all", "generation"]) {
      const { ok, held, ratio } = rows.find((row) => row.phase === phase) ?? {};
      expect(ok).toBe(SEEDS);
      expect(held ?? 0).toBeGreaterThanOrEqual(SEEDS - 1);
      expect(ratio).toBeWithin(0.95, 1.05);
    }
  });
}

/** Memory that goes by a clock of its own, so many ms from one use to the next while steps are short, and so many while they are long. */
const clocked = (inShort: number, inLong: number, long = LONG): WorldKind => ({
  name: `used every ${inShort} ms while steps take 4 ms, every ${inLong} ms while they take ${long / MS}`,
  make: (random): World => {
    const { steps, turns } = stepsByTurns(random, long);
    const list = words(() => {
      const uses = turns.map(([from, end, isShort]) => {
        const period = (isShort ? inShort : inLong) * MS;
        return timesFrom(from + random() * period, end, () => period);
      });
      return loads(uses.flat());
    }, 100);
    return one("runtime", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

for (const [inShort, inLong, median] of [
  [20, 60, 20],
  [60, 20, 20],
] as const) {
  test(`a class that is used every ${inShort} ms at one pace and every ${inLong} ms at another counts each by its time`, () => {
    const rows = coverageOf(clocked(inShort, inLong), { seeds: SEEDS });
    const rowOf = (metric: string) => rows.find((row) => row.metric === metric && row.phase === "all");
    for (const metric of ["read_bytes_per_s", "iai_p50_ns", "iai_p90_ns"]) {
      const row = rowOf(metric);
      if (metric !== "iai_p90_ns") expect(row?.ok ?? 0).toBeGreaterThan(SEEDS / 2);
      expect(row?.held ?? 0).toBeGreaterThanOrEqual((row?.ok ?? 0) - 1);
      expect(row?.right).toBe(row?.bound ?? -1);
    }
    expect(rowOf("read_bytes_per_s")?.ratio).toBeWithin(0.95, 1.05);
    expect(rowOf("iai_p50_ns")?.truth?.hi).toBe(median * MS);
  });
}

for (const [inShort, inLong] of [
  [20, 60],
  [60, 20],
] as const) {
  test(`bytes read are told where steps take 4 ms, then 60, and words are used every ${inShort} ms, then every ${inLong}`, () => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
    const rows = coverageOf(clocked(inShort, inLong, 60 * MS), { seeds: SEEDS, families });
    for (const phase of ["all", "generation"]) {
      const row = rows.find((one) => one.metric === "read_bytes_per_s" && one.phase === phase);
      expect(row?.ok ?? 0).toBeGreaterThanOrEqual(SEEDS - 2);
      expect(row?.held ?? 0).toBeGreaterThanOrEqual((row?.ok ?? 0) - 1);
      expect(row?.right).toBe(row?.bound ?? -1);
      expect(row?.ratio).toBeWithin(0.95, 1.05);
    }
  });
}

/** Tokens take 20 ms for some seven hundredths of the run, and 4 ms else; most of the turns go to memory that nothing uses. */
const seldomSlow: WorldKind = {
  name: "used every 15 ms, every 60 ms in a short time of slow tokens",
  make: (random): World => {
    const from = SECOND * (3 + 12 * random());
    const isSlow = (now: number): boolean => now > from && now < from + 1.4 * SECOND;
    const list = words(() => {
      const uses: number[] = [];
      for (let now = 20 * MS * random(); now < RUN_NS; now += (isSlow(now) ? 60 : 15) * MS) uses.push(now);
      return loads(uses);
    }, 100);
    const unused = [1, 2, 3].map(
      (i) => ({ stratum: `weight ${i}`, region_type: "weight", words: words(() => loads([]), 20) }) as const,
    );
    const used = { stratum: "activation", region_type: "activation", words: list } as const;
    return {
      run_ns: RUN_NS,
      token_period_ns: (now) => (isSlow(now) ? 20 : 4) * MS,
      steps: [],
      strata: [used, ...unused],
    };
  },
};

test("a law of few watches of a class counts by its time", () => {
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
  const rows = coverageOf(seldomSlow, { seeds: SEEDS, families });
  const { ok, held, ratio } =
    rows.find(({ metric, truth }) => metric === "read_bytes_per_s" && (truth?.hi ?? 0) > 0) ?? {};
  expect(ok ?? 0).toBeGreaterThan(SEEDS / 2);
  expect(held ?? 0).toBeGreaterThanOrEqual((ok ?? 0) - 1);
  expect(ratio).toBeWithin(0.96, 1.04);
});

/** Seven words of ten are read in the steps of one length alone. */
const halfUsed = (inShort: boolean): WorldKind => ({
  name: `most of the words are read in ${inShort ? "short" : "long"} steps alone`,
  make: (random): World => {
    const { steps } = stepsByTurns(random);
    const list = words((word) => {
      const place = random();
      const mine = steps.filter((step) => word % 10 < 3 || lengthOf(step) < LONG / 2 === inShort);
      return loads(mine.map((step) => step.begin_ns + place * lengthOf(step)));
    }, 100);
    return one("weight", list, { steps, token_period_ns: periodBefore(steps) });
  },
});

for (const inShort of [true, false]) {
  test(`a working set of what is used in ${inShort ? "short" : "long"} steps alone is no value where watches of one pace are too short for it`, () => {
    const rows = coverageOf(halfUsed(inShort), { seeds: SEEDS });
    const row = rows.find(({ metric, phase }) => metric === "working_set_bytes" && phase === "all");
    expect(row?.held).toBe(row?.ok ?? -1);
    expect(row?.right).toBe(row?.bound ?? -1);
    expect((row?.ok ?? 0) + (row?.bound ?? 0)).toBe(SEEDS);
  });
}
