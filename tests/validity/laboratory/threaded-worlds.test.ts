/** Threads that share words or divide them. The seeds are fixed, so that the outcome is too. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { coverageOf } from "../../../src/simulate/coverage.ts";
import { THREADED_WORLDS } from "./threaded-worlds.ts";

setDefaultTimeout(180_000);
const RUNS = 3;

test("intervals and bounds hold the truth of what several threads do on CPUs of their own", () => {
  const worlds = THREADED_WORLDS.map((kind) => ({
    name: kind.name,
    rows: coverageOf(kind, { seeds: RUNS, first: 500001 }),
  }));
  const rows = worlds.flatMap((world) => world.rows);
  const sum = (count: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + count(row), 0);
  expect(sum(({ held }) => held) / sum(({ ok }) => ok)).toBeGreaterThan(0.95);
  expect(sum(({ right }) => right) / sum(({ bound }) => bound)).toBeGreaterThan(0.97);
  // A refusal of everything would hold too.
  const silent = worlds.filter((world) => !world.rows.some(({ ok }) => ok === RUNS));
  expect(silent.map(({ name }) => name)).toEqual([]);
});
