/** An engine whose steps are short for some seconds, then long: watches are given so many tokens, and hold other steps then. The seeds are fixed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { METRICS } from "../../../../src/analyse/metrics/registry.ts";
import { coverageOf } from "../../../../src/simulate/coverage.ts";
import { MS } from "../shapes.ts";
import { bursts, clocked, halfUsed, readInSteps, seldomSlow } from "./paced-worlds.ts";

setDefaultTimeout(180_000);

const SEEDS = 12;

for (const inLong of [0, 4]) {
  test(`reads per token are right where a long step has ${inLong} and a short one has one`, () => {
    const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "reads_per_byte_per_token"));
    const rows = coverageOf(readInSteps(inLong), { seeds: SEEDS, families });
    const { ok, held, ratio } = rows.find(({ metric }) => metric === "reads_per_byte_per_token") ?? {};
    expect(ok).toBe(SEEDS);
    expect(held ?? 0).toBeGreaterThanOrEqual(SEEDS - 1);
    expect(ratio).toBeWithin(0.97, 1.03);
  });
}

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

test("a law of few watches of a class counts by its time", () => {
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => name === "read_bytes_per_s"));
  const rows = coverageOf(seldomSlow, { seeds: SEEDS, families });
  const { ok, held, ratio } =
    rows.find(({ metric, truth }) => metric === "read_bytes_per_s" && (truth?.hi ?? 0) > 0) ?? {};
  expect(ok ?? 0).toBeGreaterThan(SEEDS / 2);
  expect(held ?? 0).toBeGreaterThanOrEqual((ok ?? 0) - 1);
  expect(ratio).toBeWithin(0.96, 1.04);
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
