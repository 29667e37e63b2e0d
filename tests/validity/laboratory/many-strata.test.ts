/** Strata on which few watches fall, or none while they are there. The seeds are fixed, so that the outcome is too. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readBytesPerSecond, writeBytesPerSecond } from "../../../src/analyse/metrics/byte-rates.ts";
import { interAccessInterval } from "../../../src/analyse/metrics/inter-access-interval.ts";
import { workingSet } from "../../../src/analyse/metrics/working-set.ts";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { MANY_STRATA, SCRATCH_TOGETHER } from "./many-strata.ts";

setDefaultTimeout(180_000);

test("sums and times between passes are true of strata of which two watches tell each, as these do not choose what is looked at", () => {
  const families = [readBytesPerSecond, writeBytesPerSecond, interAccessInterval];
  const rows = coverageOf(MANY_STRATA, { seeds: 8, first: 500001, families });
  expect(rows.map(({ metric }) => metric)).toContain("iai_p50_ns");
  for (const { metric, ok, held, bound, right } of rows) {
    expect([metric, right]).toEqual([metric, bound]);
    expect([metric, held >= ok - 1]).toEqual([metric, true]);
  }
  const [read] = rows;
  expect(read?.ok).toBeGreaterThanOrEqual(6);
  expect(Math.abs((read?.ratio ?? 0) - 1)).toBeLessThan(0.12);
});

test("memory that comes and goes with memory of another stratum counts as gone unmet where no draw fell on it", () => {
  const families = [readBytesPerSecond, writeBytesPerSecond, workingSet];
  const all = coverageOf(SCRATCH_TOGETHER, { seeds: 10, first: 500001, families });
  const rows = all.filter(({ region_type }) => region_type === "activation");
  expect(rows).toHaveLength(3);
  for (const { metric, ok, held, bound, right } of rows) expect([metric, held, right]).toEqual([metric, ok, bound]);
});
