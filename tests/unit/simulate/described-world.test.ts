import { describe, expect, test } from "bun:test";
import { worldSchema } from "../../../src/config/world-schema.ts";
import { MrmTraceError } from "../../../src/errors.ts";
import { OP } from "../../../src/schema/operation.ts";
import { describedWorld } from "../../../src/simulate/described-world.ts";
import type { WordTrace, World } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { parseSizeBytes } from "../../../src/units.ts";

const MS = 1e6;

function worldOf(stratum: object, rest: object = {}): World {
  const described = worldSchema.parse({
    run: "10s",
    strata: [{ class: "activation", bytes: "1MiB", period: "10ms", ...stratum }],
    ...rest,
  });
  return describedWorld(described).make(seededRandom(1));
}
const wordsOf = (world: World): readonly WordTrace[] => world.strata[0]?.words ?? [];
const accesses = (words: readonly WordTrace[]): number => words.reduce((sum, { time_ns }) => sum + time_ns.length, 0);

describe("a described world", () => {
  test("has the bytes, the period and the accesses that it was given", () => {
    const world = worldOf({ touches: 3, spacing: "1ms" });
    const [stratum] = world.strata;
    expect((stratum?.words.length ?? 0) * (stratum?.repeats ?? 0) * 8).toBeWithin(0.99 * 2 ** 20, 2 ** 20 + 1);
    const words = wordsOf(world);
    expect(accesses(words) / words.length / 3000).toBeWithin(0.99, 1.01);
    for (const { time_ns } of words) {
      expect(time_ns).toEqual(time_ns.toSorted());
      const gaps = Array.from(time_ns.slice(1), (time, i) => Math.round((time - (time_ns[i] ?? 0)) / MS));
      expect(new Set(gaps)).toEqual(new Set([1, 8]));
    }
  });

  test.each([
    [4, 0.25],
    [1, 0.01],
    [8, 0.5],
    [3, 1],
    [2, 0],
  ])("with %d accesses in a period writes a share of %d of them", (touches, writes) => {
    const words = wordsOf(worldOf({ touches, writes }));
    const stores = words.reduce((sum, { op }) => sum + op.filter((one) => one === OP.store).length, 0);
    expect(Math.abs(stores / accesses(words) - writes)).toBeLessThan(0.002);
  });

  test("begins every period with its write", () => {
    for (const { time_ns, op } of wordsOf(worldOf({ touches: 4, writes: 0.25, spacing: "1ms" }))) {
      op.forEach((one, i) => {
        const isFirst = (time_ns[i] ?? 0) - (time_ns[i - 1] ?? 0) > 5 * MS;
        if (i > 0) expect(one === OP.store).toBe(isFirst);
      });
    }
  });

  test("has its accesses at whole nanoseconds, as a clock tells them", () => {
    const words = wordsOf(worldOf({ touches: 3, spacing: "289.3us", period: "5.0021ms" }));
    expect(words.every(({ time_ns }) => time_ns.every(Number.isInteger))).toBe(true);
  });

  test("has hot words that are used more often", () => {
    const words = wordsOf(worldOf({ hot: { share: 0.05, times: 10 }, period: "100ms" }));
    const counts = words.map(({ time_ns }) => time_ns.length);
    expect(counts.filter((count) => count > 900).length).toBe(20);
    expect(counts.filter((count) => count > 95 && count < 105).length).toBe(380);
  });

  test("has words as unlike as sigma says", () => {
    const words = wordsOf(worldOf({ sigma: 1, period: "50ms" }, { run: "60s" }));
    const logs = words.map(({ time_ns }) => Math.log(time_ns.length));
    const mean = logs.reduce((a, b) => a + b) / logs.length;
    const spread = Math.sqrt(logs.reduce((sum, x) => sum + (x - mean) ** 2, 0) / logs.length);
    // Five standard errors of 400 words.
    expect(spread).toBeWithin(0.82, 1.18);
    expect(Math.exp(mean)).toBeWithin(930, 1550);
  });

  test("has a step for each token, and what has their period goes by them", () => {
    const { steps, strata } = worldOf({ uneven: 0.4 }, { token: "10ms", busy: "1s", idle: "1s" });
    expect(steps.length).toBeWithin(450, 550);
    expect(steps.every(({ n_tokens, begin_ns, end_ns }) => n_tokens === 1 && begin_ns >= 0 && end_ns <= 1e10)).toBe(
      true,
    );
    const lengths = steps.map(({ begin_ns, end_ns }) => (end_ns - begin_ns) / MS);
    expect([Math.min(...lengths) < 6.5, Math.max(...lengths) > 13.5]).toEqual([true, true]);
    for (const { time_ns } of strata[0]?.words ?? []) {
      const touched = steps.map(
        ({ begin_ns, end_ns }) => time_ns.filter((time) => time >= begin_ns && time < end_ns).length,
      );
      expect(new Set(touched)).toEqual(new Set([1]));
    }
  });

  test("has no steps where no token is told", () => {
    expect(worldOf({}).steps).toEqual([]);
  });

  test("rests as long as it was told", () => {
    const world = worldOf({}, { busy: "1s", idle: "3s", run: "40s" });
    const words = wordsOf(world);
    expect(accesses(words) / words.length).toBeWithin(960, 1040);
    const gaps = [...(words[0]?.time_ns ?? [])].map((time, i, all) => time - (all[i - 1] ?? time));
    expect(Math.max(...gaps)).toBeGreaterThan(2900 * MS);
  });

  test.each([{}, { token: "10ms" }, { hot: true }])(
    "is used from and until the moments that it was told: %p",
    (rest) => {
      const { hot, ...world } = { hot: false, ...rest };
      const shape = hot ? { hot: { share: 0.1, times: 3 } } : { uneven: 0.2 };
      const words = wordsOf(worldOf({ touches: 2, from: "3s", until: "7.5s", ...shape }, world));
      for (const { time_ns } of words) {
        expect([time_ns[0] ?? 0, time_ns.at(-1) ?? 0].map((time) => Math.round(time / 1e8))).toEqual([30, 75]);
        expect(time_ns.every((time) => time >= 3e9 && time < 7.5e9)).toBe(true);
        expect(time_ns.length / 2).toBeWithin(435, hot ? 1360 : 465);
      }
    },
  );

  test("has memory for the accesses of the time in which it is used", () => {
    const many = { bytes: "1GiB", period: "10ms" };
    expect(wordsOf(worldOf({ ...many, until: "60s" }, { run: "600s" }))).toHaveLength(400);
    const dense = worldOf({ period: "20us", from: "599s", until: "599.5s" }, { run: "600s" });
    expect(accesses(wordsOf(dense))).toBeWithin(8e6, 1.01e7);
  });

  test("has fewer words that differ where they are used often", () => {
    const count = (stratum: object, runS: number): number => wordsOf(worldOf(stratum, { run: runS })).length;
    expect(count({ bytes: "1GiB", period: "10ms" }, 60)).toBe(400);
    expect(count({ bytes: "1GiB", period: "10ms" }, 600)).toBe(166);
    expect(count({ bytes: "1GiB", period: "10s", hot: { share: 0.01, times: 5 } }, 60)).toBe(2000);
    expect(count({ bytes: 96, period: "10ms" }, 60)).toBe(12);
  });

  test.each(["8B", "24B", "1000B", "3208B", "6000B", "10kB", "100kB", "1MiB", "110MiB", "0.3GiB"])(
    "of %s has so many bytes, to 1 % and no more",
    (bytes) => {
      for (const run of ["10s", "600s"]) {
        const { strata } = worldOf({ bytes }, { run });
        const [stratum] = strata;
        const all = (stratum?.words.length ?? 0) * (stratum?.repeats ?? 0) * 8;
        expect(all / parseSizeBytes(bytes)).toBeWithin(0.99, 1 + 1e-9);
      }
    },
  );

  test("of more accesses than can be kept is refused, with what to change", () => {
    const many = { period: "20us", touches: 100, spacing: "100ns" };
    const make = (): World => worldOf(many, { run: "600s" });
    for (const word of ["period", "touches", "run", "hot.times", "sigma", "strata"])
      expect(make).toThrow(expect.objectContaining({ code: "usage", hint: expect.stringContaining(word) }));
    expect(make).toThrow(
      "stratum activation would have 300G accesses to 100 words, more than 10.0M: so many are kept in memory",
    );
    const strata = [many, { period: "1s" }].map((one, i) => ({
      ...{ name: `part ${i}`, class: "weight", bytes: "1MiB" },
      ...one,
    }));
    expect(() => worldOf({}, { run: "600s", strata })).toThrow(
      "more than 5.00M: 10.0M are kept in memory, as many of each of 2 strata",
    );
  });

  test("of too many accesses is refused at its place, where that is told", () => {
    const described = worldSchema.parse({
      run: "600s",
      strata: [{ class: "weight", bytes: "1MiB", period: "20us", touches: 100, spacing: "100ns" }],
    });
    const refuse = (stratum: number, message: string) => new MrmTraceError("usage", `at ${stratum}: ${message}`, "");
    expect(() => describedWorld(described, refuse).make(seededRandom(1))).toThrow(/^at 0: stratum weight would have/);
  });
});
