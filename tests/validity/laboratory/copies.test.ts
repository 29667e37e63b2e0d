/** Programs that copy, on a processor that copies slowly beside a watch: watches rest, and what they tell is true all the same. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { METRICS } from "../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import type { World, WorldKind } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { loads, MS, one, SECOND, words } from "./shapes.ts";
import { WORLDS } from "./worlds.ts";

setDefaultTimeout(120_000);

const TIMES = 13;
const SEEDS = 12;
const FIRST = 810_001;

/** A world that spends a share of its time on copies besides. */
function copying(name: string, shareAt: (part: number) => number): WorldKind {
  const make = (random: ReturnType<typeof seededRandom>): World => {
    const world = WORLDS.find((kind) => kind.name === name)?.make(random);
    if (world === undefined) throw new Error(`no world ${name}`);
    return { ...world, copies: { shareAt: (ns) => shareAt(ns / world.run_ns), times: TIMES } };
  };
  return { name, make };
}

/** Runs with an interval or bounds, and those of them that hold the truth. */
function answersOf(kind: WorldKind) {
  const rows = coverageOf(kind, { seeds: SEEDS, most: SEEDS, first: FIRST, families: METRICS });
  const sumOf = (count: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((sum, row) => sum + count(row), 0);
  return {
    values: sumOf(({ ok }) => ok),
    held: sumOf(({ held }) => held),
    bounds: sumOf(({ bound }) => bound),
    right: sumOf(({ right }) => right),
    /** Values of one figure that do not hold the truth. */
    worst: Math.max(...rows.map(({ ok, held }) => ok - held)),
  };
}

function lossOf(kind: WorldKind): number {
  const { summary } = tryWorld(kind.make(seededRandom(1, 1)), 1);
  const { ticks, in_string } = summary.beside_watches ?? { ticks: 0, in_string: 0 };
  return (in_string / ticks) * (1 - 1 / TIMES);
}

test("a program that always copies loses some 2 % to watches, not nine tenths", () => {
  expect(lossOf(copying("even tokens of 5 ms", () => 0.99))).toBeLessThan(0.05);
  expect(lossOf(copying("even tokens of 5 ms", () => 0.05))).toBeLessThan(0.06);
});

test.each(["even tokens of 5 ms", "20 tensors whose rates differ 30 times from first to last"])(
  "what is told of a program that copies all the time is true: %s",
  (name) => {
    const { values, held, bounds, right } = answersOf(copying(name, () => 0.01));
    expect(values + bounds).toBeGreaterThan(20);
    expect(held).toBeGreaterThanOrEqual(0.9 * values);
    expect(right).toBeGreaterThanOrEqual(0.97 * bounds);
  },
);

/** Where its density changed tenfold watches weigh too little in the half that has few. */
test.each([
  "a second half of the memory that comes at half time and is used twice as often",
  "4 passes a token from half time, one before",
])("what is told of a program that copies in the second half of the run is true, or held back: %s", (name) => {
  const { values, held, bounds, right, worst } = answersOf(copying(name, (part) => (part > 0.5 ? 0.02 : 0)));
  expect(worst).toBeLessThan(3);
  expect(held).toBeGreaterThanOrEqual(0.9 * values);
  expect(right).toBeGreaterThanOrEqual(0.97 * bounds);
});

/** Used three times as often while it copies, for 2 s of every 4. */
const byTurns: WorldKind = {
  name: "copies by turns of 2 s",
  make: (random): World => {
    const run_ns = 40 * SECOND;
    const from = 4 * random();
    const isCopying = (ns: number): boolean => Math.floor((ns / SECOND + from) / 2) % 2 === 0;
    const list = words(() => {
      const times: number[] = [];
      for (let now = 60 * MS * random(); now < run_ns; now += (isCopying(now) ? 20 : 60) * MS) times.push(now);
      return loads(times, run_ns);
    }, 200);
    return one("runtime", list, { run_ns, copies: { shareAt: (ns) => (isCopying(ns) ? 0.02 : 0), times: TIMES } });
  },
};

test("what is told of a program that copies by turns, in which watches rest, is no bound above the truth", () => {
  const { values, held, bounds, right } = answersOf(byTurns);
  expect(values + bounds).toBeGreaterThan(SEEDS);
  expect(held).toBeGreaterThanOrEqual(0.9 * values);
  expect(right).toBeGreaterThanOrEqual(0.97 * bounds);
});
