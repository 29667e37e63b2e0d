/**
 * How much is watched must not move the figures: runs with all of a budget and with a quarter of it are compared as
 * `compare RUN_A RUN_B` compares them, in 20 seeded pairs. If the interval of a difference holds 0 in 95 of 100, fewer
 * than 16 happen with a chance of 0.3 % (binomial).
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { computeMetrics } from "../../../src/analyse/metrics/registry.ts";
import { differenceOfRuns } from "../../../src/compare/run-difference.ts";
import type { SavedRow, SavedRun } from "../../../src/compare/saved-run.ts";
import { metadataWith } from "../../fixtures/run-metadata.ts";
import { type Design, type Process, periodicReads, simulatedInput, simulateWatches } from "../watch-simulator.ts";

setDefaultTimeout(120_000);

const PAIRS = 20;
const LEAST = 16;
const MS = 1e6;
/** Watches of a quarter of the budget wait four times as long for the next address. */
const WHOLE = { run_ns: 6000 * MS, dwell_ns: 60 * MS, trap_limit: 8, slots: 4, retarget_ns: 20 * MS };
const QUARTER = { ...WHOLE, slots: 1 };
const METRICS = ["iai_p50_ns", "read_bytes_per_s"];

function runOf(processes: readonly Process[], design: Design): SavedRun {
  const rows = computeMetrics(simulatedInput(processes, simulateWatches(processes, design), design));
  const kept = rows.filter(({ metric, source }) => METRICS.includes(metric) && source === "watch");
  const saved = (row: (typeof kept)[number]): SavedRow =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : (value ?? null)]),
    ) as SavedRow;
  return { path: "", metadata: metadataWith(), rows: kept.map(saved) };
}

/** How often each metric is not shown to differ, of the pairs in which both runs told it. */
function agreement(processes: readonly Process[]): Map<string, { told: number; alike: number }> {
  const counts = new Map(METRICS.map((metric) => [metric, { told: 0, alike: 0 }]));
  for (let pair = 0; pair < PAIRS; pair++) {
    const whole = runOf(processes, { ...WHOLE, seed: 2 * pair + 1 });
    const quarter = runOf(processes, { ...QUARTER, seed: 2 * pair + 2 });
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
  test.each([
    ["bytes that each token reads", [{ period_ns: 5 * MS, spread: 0, words: 100_000 }]],
    [
      "two strata of unlike size and periods",
      [
        { period_ns: 5 * MS, spread: 0, words: 100_000 },
        { period_ns: 8 * MS, spread: 0.5, words: 300_000 },
      ],
    ],
  ])("of %s", (_, of) => {
    const processes = of.map(
      ({ period_ns, spread, words }, i): Process => ({
        stratum: String(i),
        region_type: "weight",
        words,
        accesses: periodicReads(period_ns, 1, spread),
      }),
    );
    for (const [metric, { told, alike }] of agreement(processes)) {
      expect([metric, told]).toEqual([metric, PAIRS]);
      expect({ metric, alike, enough: alike >= LEAST }).toEqual({ metric, alike, enough: true });
    }
  });

  test("and figures that do differ are told apart", () => {
    const reads = (period_ns: number): Process[] => [
      { stratum: "w", region_type: "weight", words: 100_000, accesses: periodicReads(period_ns, 1, 0.5) },
    ];
    const [a, b] = [runOf(reads(5 * MS), { ...WHOLE, seed: 1 }), runOf(reads(10 * MS), { ...QUARTER, seed: 2 })];
    const told = differenceOfRuns(a, b).metrics.filter(({ step }) => step === "all");
    expect(told.map(({ metric, differs }) => [metric, differs]).toSorted()).toEqual(
      METRICS.map((name) => [name, true]),
    );
  });
});
