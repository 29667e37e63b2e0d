/**
 * How much is watched must not move the figures: runs with all of a budget and with a quarter of it are compared as
 * `compare RUN_A RUN_B` compares them, in 20 seeded pairs. If the interval of a difference holds 0 in 95 of 100, fewer
 * than 16 happen with a chance of 0.3 % (binomial).
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { differenceOfRuns } from "../../../src/compare/run-difference.ts";
import type { SavedRow, SavedRun } from "../../../src/compare/saved-run.ts";
import { tryWorld } from "../../../src/simulate/trial.ts";
import { USUAL_POLICY, type WorldKind } from "../../../src/simulate/world.ts";
import { seededRandom } from "../../../src/statistics/prng.ts";
import { metadataWith } from "../../fixtures/run-metadata.ts";
import { oneOfTwoPeriods } from "../laboratory/worlds.ts";

setDefaultTimeout(120_000);

const PAIRS = 20;
const LEAST = 16;
const WHOLE_PCT = 1;
const QUARTER_PCT = 0.25;
const METRICS = ["iai_p50_ns", "read_bytes_per_s"];

function runOf(kind: WorldKind, seed: number, budgetPct: number): SavedRun {
  const { input } = tryWorld(kind.make(seededRandom(seed, 77)), seed, { ...USUAL_POLICY, budget_pct: budgetPct });
  const rows = computeMetrics(input);
  const kept = rows.filter(({ metric, source }) => METRICS.includes(metric) && source === "watch");
  const saved = (row: (typeof kept)[number]): SavedRow =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : (value ?? null)]),
    ) as SavedRow;
  return { path: "", metadata: metadataWith(), rows: kept.map(saved) };
}

/** How often each metric is not shown to differ, of the pairs in which both runs told it. */
function agreement(kind: WorldKind): Map<string, { told: number; alike: number }> {
  const counts = new Map(METRICS.map((metric) => [metric, { told: 0, alike: 0 }]));
  for (let pair = 0; pair < PAIRS; pair++) {
    const whole = runOf(kind, 2 * pair + 1, WHOLE_PCT);
    const quarter = runOf(kind, 2 * pair + 2, QUARTER_PCT);
    for (const { metric, differs, step } of differenceOfRuns(whole, quarter).metrics) {
      const count = counts.get(metric);
      if (count === undefined || differs === null || step !== "all") continue;
      count.told += 1;
      if (!differs) count.alike += 1;
    }
  }
  return counts;
}

describe("a quarter of the budget gives the same figures", () => {
  test.each([oneOfTwoPeriods(5, 8)])("of $name", (kind) => {
    for (const [metric, { told, alike }] of agreement(kind)) {
      expect([metric, told]).toEqual([metric, PAIRS]);
      expect({ metric, alike, enough: alike >= LEAST }).toEqual({ metric, alike, enough: true });
    }
  });

  test("and figures that do differ are told apart", () => {
    const [a, b] = [runOf(oneOfTwoPeriods(5, 8), 1, WHOLE_PCT), runOf(oneOfTwoPeriods(10, 16), 2, QUARTER_PCT)];
    const told = differenceOfRuns(a, b).metrics.filter(({ step }) => step === "all");
    expect(told.map(({ metric, differs }) => [metric, differs]).toSorted()).toEqual(
      METRICS.map((name) => [name, true]),
    );
  });
});
