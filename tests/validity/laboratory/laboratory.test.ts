/**
 * Intervals that hold the truth on work that nobody tuned for: some of the worlds of `bun run truth`, in fewer runs. The seeds
 * are fixed, so that the outcome is too. Of 25 intervals of 95 % fewer than 21 hold with a chance of 0.7 %.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { type CoverageRow, coverageOf } from "../../../src/simulate/coverage.ts";
import { WORLDS } from "./worlds.ts";

setDefaultTimeout(180_000);

const RUNS = 25;
const LEAST = 21 / 25;
const FEW = 10;
/** Bounds and values over the whole of the worlds here. */
const LEAST_OF_ALL = 0.93;

/** Nobody knows what went on in a tenth of the time: there are bounds only. */
const STOPPED = "the tracer is stopped for a second, twice";
const NAMES = [
  "tokens of 5 and 15 ms by turns",
  "busy 2 s, idle 2 s, no tokens known",
  "busy 0.05 s, idle 0.15 s",
  "8 touches, 200 us apart, every 20 ms",
  "5 % of the words 1000 times as hot",
  "rates lognormal by word, sigma 1.5",
  STOPPED,
  "rewritten after lognormal times, sigma 1, and read for the last time anywhere in between",
  "bursts of 40 reads, 200 us apart, every 6 s, between steps of 20 ms every second",
];

describe("on work of many shapes", () => {
  const all: CoverageRow[] = [];

  test.each(NAMES)("intervals and bounds hold the truth: %s", (name) => {
    const kind = WORLDS.find((world) => world.name === name);
    expect(kind).toBeDefined();
    const rows = kind === undefined ? [] : coverageOf(kind, { seeds: RUNS });
    all.push(...rows);
    const poor = rows.filter(({ ok, held }) => ok >= FEW && held / ok < LEAST);
    const wrong = rows.filter(({ bound, right }) => bound >= FEW && right / bound < LEAST);
    expect({ poor, wrong }).toEqual({ poor: [], wrong: [] });
    // A refusal of everything would hold too.
    const isTold = ({ ok, bound }: CoverageRow): boolean => ok + (name === STOPPED ? bound : 0) > RUNS / 2;
    expect(rows.filter(isTold).length).toBeGreaterThanOrEqual(1);
  });

  test("and nearly all of them do, taken together", () => {
    const sum = (count: (row: CoverageRow) => number): number => all.reduce((total, row) => total + count(row), 0);
    expect(sum(({ held }) => held) / sum(({ ok }) => ok)).toBeGreaterThan(LEAST_OF_ALL);
    expect(sum(({ right }) => right) / sum(({ bound }) => bound)).toBeGreaterThan(LEAST_OF_ALL);
  });
});
