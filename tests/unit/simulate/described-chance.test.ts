/** What a described work leaves to chance, and words of which few are used very often. */
import { describe, expect, test } from "bun:test";
import { readWorldFile } from "../../../src/config/world-file.ts";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { OP } from "../../../src/schema/operation.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";
import { simulate } from "../../../src/simulate/simulate.ts";
import type { WordTrace, World } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";

const MS = 1e6;

function worldOf(stratum: object, rest: object = {}, seed = 1): World {
  const described = worldSchema.parse({
    run: "20s",
    strata: [{ class: "activation", bytes: "1MiB", period: "50ms", ...stratum }],
    ...rest,
  });
  return describedWorld(described).make(seededRandom(seed));
}
const wordsOf = (world: World): readonly WordTrace[] => world.strata.flatMap(({ words }) => words);
const gapsOf = ({ time_ns }: WordTrace): number[] =>
  Array.from(time_ns.slice(1), (time, i) => (time - (time_ns[i] ?? 0)) / MS);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
/** Standard deviation over the mean: 1 of times that may end at any moment. */
const spread = (values: readonly number[]): number =>
  Math.sqrt(mean(values.map((value) => value ** 2)) / mean(values) ** 2 - 1);

describe("uses at random moments", () => {
  test("are as far apart in the mean as the period, and as likely at any moment", () => {
    const words = wordsOf(worldOf({ random: ["moments"] }));
    expect(words).toHaveLength(400);
    const gaps = words.flatMap(gapsOf);
    expect(mean(gaps)).toBeWithin(49, 51);
    expect(spread(gaps)).toBeWithin(0.98, 1.02);
    expect(gaps.filter((gap) => gap < 5).length / gaps.length).toBeWithin(0.09, 0.1);
    for (const { time_ns } of words)
      expect(time_ns.every((time) => Number.isInteger(time) && time >= 0 && time < 20e9)).toBe(true);
  });

  test("come in bursts that may begin before the one before them is over", () => {
    const words = wordsOf(worldOf({ random: ["moments"], touches: 3, spacing: "15ms", writes: 1 / 3 }));
    let between = 0;
    for (const word of words) {
      expect(word.time_ns).toEqual(word.time_ns.toSorted());
      word.op.forEach((op, i) => {
        if (op === OP.store && word.op[i - 1] === OP.store) between += 1;
      });
      const stores = word.time_ns.filter((_, i) => word.op[i] === OP.store);
      // Each burst has its write, and the reads that belong to it.
      for (const time of stores) if (time < 20e9 - 31 * MS) expect(word.time_ns).toContain(time + 30 * MS);
    }
    expect(between).toBeGreaterThan(1000);
  });

  test("do not go by tokens", () => {
    const world = worldOf({ random: ["moments"] }, { token: "50ms" });
    const [first] = wordsOf(world);
    const counts = world.steps.map(
      ({ begin_ns, end_ns }) => first?.time_ns.filter((time) => time >= begin_ns && time < end_ns).length,
    );
    expect(new Set(counts).size).toBeGreaterThan(2);
    const ends = world.steps.map(({ begin_ns, end_ns }) => Math.round(end_ns - begin_ns));
    expect(new Set(ends)).toEqual(new Set([50 * MS]));
  });

  test("come while the work goes on, and while its memory is there", () => {
    const resting = wordsOf(worldOf({ random: ["moments"] }, { busy: "1s", idle: "3s" }));
    expect(mean(resting.map(({ time_ns }) => time_ns.length))).toBeWithin(90, 110);
    const { strata } = worldOf({ random: ["moments"], blocks: { every: "200ms", life: "100ms" } });
    for (const { words, life_ns: [born, freed] = [0, 0] } of strata)
      for (const { time_ns } of words) expect(time_ns.every((time) => time >= born && time < freed)).toBe(true);
  });
});

test("random writes are as many as they were told, at any access", () => {
  const words = wordsOf(worldOf({ writes: 0.25, random: ["writes"] }));
  const ops = words.flatMap(({ op }) => [...op].map((one) => one === OP.store));
  expect(ops.filter(Boolean).length / ops.length).toBeWithin(0.245, 0.255);
  const runs = words.flatMap(({ op }) => {
    const stores = [...op].flatMap((one, i) => (one === OP.store ? [i] : []));
    return stores.slice(1).map((index, i) => index - (stores[i] ?? 0));
  });
  // The next write is any number of accesses away, by a geometric law.
  expect(runs.filter((run) => run === 1).length / runs.length).toBeWithin(0.24, 0.26);
  expect(runs.filter((run) => run > 8).length / runs.length).toBeWithin(0.09, 0.11);
});

describe("random blocks", () => {
  const lives = (world: World) => world.strata.map(({ life_ns: [born, freed] = [0, 0] }) => ({ born, freed }));

  test("come at any moment, and live for any time", () => {
    const world = worldOf(
      { random: ["blocks"], blocks: { every: "5ms", life: "100ms" }, bytes: "64KiB" },
      { run: "40s" },
    );
    const inRun = lives(world).filter(({ born }) => born >= 0);
    const times = inRun.map(({ born, freed }) => (freed - born) / MS);
    expect([mean(times) / 100, spread(times)]).toEqual([expect.closeTo(1, 1), expect.closeTo(1, 1)]);
    const apart = inRun.slice(1).map(({ born }, i) => (born - (inRun[i]?.born ?? 0)) / MS);
    expect([mean(apart) / 5, spread(apart)]).toEqual([expect.closeTo(1, 1), expect.closeTo(1, 1)]);
    // As many are there at the begin as later: those that came before it.
    const there = (moment: number): number =>
      lives(world).filter(({ born, freed }) => born <= moment && moment < freed).length;
    expect(there(0)).toBeWithin(8, 35);
    expect(mean(Array.from({ length: 400 }, (_, i) => there(100 * MS * i)))).toBeWithin(18, 22);
  });

  test("do not come with the tokens", () => {
    const world = worldOf({ random: ["blocks"], blocks: { every: "50ms", life: "100ms" } }, { token: "50ms" });
    const begins = new Set(world.steps.map(({ begin_ns }) => Math.round(begin_ns)));
    expect(lives(world).filter(({ born }) => begins.has(born))).toEqual([]);
  });
});

describe("words with a Pareto tail", () => {
  test("are used x times as often or more as x^-pareto of them", () => {
    const worlds = [1, 2, 3, 4, 5, 6].map((seed) => worldOf({ pareto: 1.5, period: "1s" }, {}, seed));
    for (const world of worlds) expect(wordsOf(world).length).toBeWithin(3900, 4001);
    const rates = worlds.flatMap(wordsOf).map(({ time_ns }) => time_ns.length / 20);
    for (const x of [2, 5, 10, 30])
      expect(rates.filter((rate) => rate >= x).length / rates.length / x ** -1.5).toBeWithin(0.8, 1.2);
    expect(Math.min(...rates)).toBeWithin(0.9, 1.01);
  });

  test.each([0.5, 1, 1.5, 4])("have fewer words that differ where there are more accesses, with %d", (pareto) => {
    const words = wordsOf(worldOf({ pareto, period: "100ms" }, { run: "60s" }));
    const count = words.reduce((sum, { time_ns }) => sum + time_ns.length, 0);
    expect(count).toBeLessThan(1.5e7);
    expect(words.length).toBeWithin(pareto < 1 ? 100 : 400, 4001);
  });

  test("of two kinds are had with hot words and sigma", () => {
    const words = wordsOf(worldOf({ hot: { share: 0.3, times: 50 }, sigma: 0.4, period: "1s" }, { run: "50s" }));
    const counts = words.map(({ time_ns }) => time_ns.length);
    expect(counts.filter((count) => count > 400).length / counts.length).toBeWithin(0.29, 0.31);
    expect(counts.filter((count) => count > 200 && count <= 400).length / counts.length).toBeLessThan(0.01);
  });
});

const EXAMPLE = new URL("../../../config/world-chance.yaml", import.meta.url).pathname;

describe("the example of what is left to chance", () => {
  const { described } = readWorldFile(EXAMPLE);
  const { figures } = simulate({ ...described, run: 12e9 }, { seeds: 3 });
  const figureOf = (region_type: string, metric: string) =>
    figures.find((figure) => figure.region_type === region_type && figure.metric === metric);

  test("is true to its description", () => {
    // The mean of a Pareto tail of 1.5 from 1 on is 3.
    const perSecond = 3 * 2 * 64 * 2 ** 20;
    expect((figureOf("weight", "read_bytes_per_s")?.truth?.lo ?? 0) / perSecond).toBeWithin(0.85, 1.15);
    expect(figureOf("weight", "reads_per_write")?.truth?.lo ?? 0).toBeWithin(45, 53);
    const buffers = (2 * 2 ** 20 * 4) / 0.02;
    expect((figureOf("activation", "write_bytes_per_s")?.truth?.lo ?? 0) / buffers).toBeWithin(0.8, 1.2);
  });

  test("tells figures that hold the truth", () => {
    const sum = (key: "ok" | "held" | "bound" | "right") => figures.reduce((all, figure) => all + figure[key], 0);
    expect([sum("ok"), sum("bound")].map((count) => count > 30)).toEqual([true, true]);
    expect(sum("held") / sum("ok")).toBeGreaterThanOrEqual(0.95);
    expect(sum("right") / sum("bound")).toBeGreaterThanOrEqual(0.97);
  });
});
