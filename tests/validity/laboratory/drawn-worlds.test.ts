/**
 * Intervals that hold the truth on work that nobody chose: each run has another description, drawn over the whole range that a
 * described world may have. The seeds are fixed, so that the outcome is too.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { type CoverageRow, coverageOf } from "../../../src/simulate/coverage.ts";
import { DRAWN_WORLDS } from "./drawn-worlds.ts";

setDefaultTimeout(300_000);

const RUNS = 24;
const LEAST_TOLD = 48;
const FIRST = 500_001;
const LEAST_HELD = 0.93;
const LEAST_RIGHT = 0.97;

test.each([...DRAWN_WORLDS])("nearly all intervals and bounds hold the truth: $name", (kind) => {
  const rows = coverageOf(kind, { seeds: RUNS, first: FIRST });
  const sum = (count: (row: CoverageRow) => number): number => rows.reduce((total, row) => total + count(row), 0);
  const [ok, bound] = [sum((row) => row.ok), sum((row) => row.bound)];
  // A refusal of everything would hold too. Half of the runs know steps, but no tensors: few watches tell no more there than without steps.
  expect(ok).toBeGreaterThan(LEAST_TOLD);
  expect(bound).toBeGreaterThan(3 * RUNS);
  expect(sum(({ held }) => held) / ok).toBeGreaterThan(LEAST_HELD);
  expect(sum(({ right }) => right) / bound).toBeGreaterThan(LEAST_RIGHT);
});
