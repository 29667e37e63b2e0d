import { describe, expect, test } from "bun:test";
import {
  chooseDesign,
  type Design,
  type DesignFacts,
  isLong,
  notAhead,
  shortDwellNs,
  TRAP_LIMIT,
} from "../../../../../src/collect/ebpf/watch/design.ts";
import { seededDraws } from "../../../../../src/statistics/prng.ts";

const facts: DesignFacts = {
  turn: 0.5,
  regionType: "weight",
  tokenPeriodNs: 5e6,
  elapsedNs: 20e9,
  registers: 4,
  freeRegisters: 4,
  longRegisters: 0,
  longestNs: Number.POSITIVE_INFINITY,
  hasRowsAhead: false,
  needsPair: false,
};
const random = seededDraws(1);
const choose = (changes: Partial<DesignFacts>) => chooseDesign({ ...facts, ...changes }, random);
function many(changes: Partial<DesignFacts>): Design[] {
  return Array.from({ length: 400 }, (_, i) => choose({ turn: (i + 0.5) / 400, ...changes })).filter((d) => d !== null);
}

describe("the dwell of a short watch", () => {
  test.each([
    [null, 80e6],
    [1e6, 30e6],
    [10e6, 80e6],
    [100e6, 500e6],
  ])("for a token period of %p ns is %p ns", (period, dwell) => {
    expect(shortDwellNs(period)).toBe(dwell);
  });
});

describe("the time of a short watch", () => {
  test("is as likely anywhere within half of that around it, so that no cycle falls into step with it", () => {
    const times = many({ tokenPeriodNs: 10e6 })
      .filter(({ name }) => name === "short")
      .map((d) => d.dwellLimitNs / 80e6);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(0.5);
    expect(Math.max(...times)).toBeLessThanOrEqual(1.5);
    for (const quarter of [0.5, 0.75, 1, 1.25]) {
      const inside = times.filter((time) => time >= quarter && time < quarter + 0.25).length;
      expect(inside / times.length).toBeGreaterThan(0.15);
    }
  });
});

describe("the design of a watch", () => {
  test("is a pair of registers one time in eight, and where decoding could not tell", () => {
    expect(many({}).filter(({ mode }) => mode === "pair").length).toBe(50);
    expect(choose({ needsPair: true })).toMatchObject({ name: "short", mode: "pair" });
    expect(choose({ needsPair: true, freeRegisters: 1 })).toBeNull();
  });
  test("is as often long where decoding could not tell, as a pair where it sees reads", () => {
    const longOf = (changes: Partial<DesignFacts>) => many(changes).filter(isLong);
    for (const regionType of ["weight", "activation"] as const) {
      const names = longOf({ regionType }).map(({ name }) => name);
      const needed = longOf({ regionType, needsPair: true });
      expect(needed.map(({ name }) => name)).toEqual(names);
      for (const { name, mode } of needed)
        expect(mode).toBe(name === "long" && regionType === "activation" ? "pair" : "w");
    }
    const waiting = { turn: 0.25, regionType: "activation", needsPair: true, freeRegisters: 1 } as const;
    expect(choose(waiting)).toBeNull();
  });
  test("never waits for a second register where only one may be used", () => {
    const designs = many({ registers: 1, freeRegisters: 1, needsPair: true });
    expect(designs.length).toBe(400);
    expect(designs.every(({ mode, name }) => mode === "rw" && name === "short")).toBe(true);
  });
  test("sees more traps one time in eight, as a pair too", () => {
    const deep = (changes: Partial<DesignFacts>) =>
      many(changes).filter(({ trapLimit }) => trapLimit > TRAP_LIMIT).length;
    expect(deep({})).toBe(50);
    expect(deep({ needsPair: true })).toBe(50);
  });
  test("is long now and then, log-uniform up to the time the run has lasted, for stores where they are rare", () => {
    const long = many({}).filter(({ name }) => name === "long");
    expect(long.length).toBe(50);
    expect(long.every(({ mode }) => mode === "w")).toBe(true);
    expect(Math.min(...long.map((d) => d.dwellLimitNs))).toBeGreaterThanOrEqual(40e6);
    expect(Math.max(...long.map((d) => d.dwellLimitNs))).toBeLessThanOrEqual(20e9);
    const aboveGeometricMean = long.filter((d) => d.dwellLimitNs > Math.sqrt(40e6 * 20e9)).length;
    expect(Math.abs(aboveGeometricMean - 25)).toBeLessThan(15);
    expect(many({ regionType: "activation" }).some(({ name, mode }) => name === "long" && mode === "rw")).toBe(true);
  });
  test("leaves at least a pair's registers to short watches", () => {
    for (const longRegisters of [1, 2]) {
      expect(many({ longRegisters, hasRowsAhead: true, regionType: "kv_cache" }).some(isLong)).toBe(false);
    }
    expect(many({ registers: 3, freeRegisters: 3, regionType: "kv_cache", hasRowsAhead: true }).some(isLong)).toBe(
      false,
    );
  });
  test("is ahead of the token axis for half of the cache draws that can be, with reads and without", () => {
    const designs = many({ regionType: "kv_cache", hasRowsAhead: true });
    const ahead = designs.filter(({ name }) => name === "ahead");
    expect(ahead.length / designs.length).toBeGreaterThan(0.3);
    expect(new Set(ahead.map(({ mode }) => mode))).toEqual(new Set(["rw", "w"]));
    expect(many({ regionType: "kv_cache" }).some(({ name }) => name === "ahead")).toBe(false);
  });

  test("has the chance to be of any word that is noted for it, whether rows ahead can be drawn or not", () => {
    for (const changes of [{}, { longRegisters: 1 }, { registers: 2, freeRegisters: 2 }, { longestNs: 1e6 }]) {
      const cache = { ...changes, regionType: "kv_cache", hasRowsAhead: true } as const;
      const designs = Array.from({ length: 20 }, () => many(cache)).flat();
      const others = designs.filter(({ name }) => name !== "ahead").length / designs.length;
      expect(Math.abs(others - notAhead({ ...facts, ...cache }))).toBeLessThan(0.02);
    }
    expect(notAhead({ ...facts, regionType: "kv_cache" })).toBe(1);
    expect(notAhead({ ...facts, hasRowsAhead: true })).toBe(1);
  });
  test("is a cohort for data that is written, never for weights", () => {
    const cohorts = many({ regionType: "activation" }).filter(({ name }) => name === "cohort");
    expect(cohorts.length).toBe(25);
    expect(cohorts.every(({ mode }) => mode === "w")).toBe(true);
    expect(many({}).some(({ name }) => name === "cohort")).toBe(false);
  });
  test("waits when no register is free", () => {
    expect(choose({ freeRegisters: 0 })).toBeNull();
  });
});

test("no watch is long where none may take long, and none takes longer than it may", () => {
  const isLonger = many({ longestNs: 300e6, regionType: "activation" }).some(isLong);
  expect(isLonger).toBe(false);
  const long = many({ longestNs: 2e9, regionType: "activation" }).filter(isLong);
  expect(long.length).toBeGreaterThan(0);
  expect(Math.max(...long.map(({ dwellLimitNs }) => dwellLimitNs))).toBeLessThanOrEqual(2e9);
});
