import { describe, expect, test } from "bun:test";
import { renderSimulation } from "../../../src/report/simulation-table.ts";
import type { SimulatedFigure, Simulation } from "../../../src/schema/simulation.ts";

const NOTHING: SimulatedFigure = {
  region_type: "weight",
  metric: "iai_p50_ns",
  step: "all",
  unit: "ns",
  runs: 20,
  ok: 0,
  bound: 0,
  refused: 20,
  truth: null,
  value: null,
  lo: null,
  hi: null,
  half_width_pct: null,
  held: 0,
  bound_lo: null,
  bound_hi: null,
  right: 0,
  why: "no write seen in the run",
};
const SOME: SimulatedFigure = {
  ...NOTHING,
  ...{ ok: 11, bound: 9, refused: 0, truth: { lo: 7e6, hi: 7e6 }, value: 7e6, lo: 6.9e6, hi: 7.1e6 },
  ...{ half_width_pct: 1.4, held: 10, bound_lo: 6e6, right: 9, why: "8 of 99 watched addresses show one" },
};
const BOUND: SimulatedFigure = {
  ...SOME,
  ...{ metric: "retention_p50_ns", ok: 0, bound: 20, value: null, lo: null, hi: null, half_width_pct: null, held: 0 },
};

const simulationOf = (figures: readonly SimulatedFigure[], rest: Partial<Simulation> = {}): Simulation => ({
  ...{ schema_version: "2.1", world: "a world", seeds: 20, first_seed: 1, run_s: 30, budget_pct: 1, figures, ...rest },
});
const textOf = (figures: readonly SimulatedFigure[], rest: Partial<Simulation> = {}, width = 120): string =>
  renderSimulation(simulationOf(figures, rest), { width, color: false, unicode: false });
/** As it reads, whatever the width. */
const sentences = (...words: Parameters<typeof textOf>): string => textOf(...words).replaceAll("\n", " ");

describe("the table of a described world", () => {
  test("counts the runs with a value, a bound and nothing, and of values and bounds apart those that are true", () => {
    expect(textOf([SOME])).toMatch(/ 11\/9\/0 +10\/9\n/);
    expect(textOf([BOUND])).toMatch(/ 0\/20\/0 +-\/9\n/);
    expect(textOf([{ ...SOME, ok: 20, bound: 0, held: 19, right: 0, why: null }])).toMatch(/ 20\/0\/0 +19\/-\n/);
  });

  test("says of which seeds the runs are", () => {
    expect(textOf([SOME])).toContain("20 runs of 30.0 s, budget 1 %, seeds 1 to 20\n");
    expect(textOf([SOME], { seeds: 1, first_seed: 7 })).toContain("1 run of 30.0 s, budget 1 %, seed 7\n");
  });

  test("says of what no run has that there is nothing to tell", () => {
    expect(textOf([NOTHING])).toMatch(/iai_p50_ns +none +nothing to tell \(1\)/);
    expect(textOf([{ ...NOTHING, truth: { lo: 1e6, hi: 1e6 } }])).toMatch(/iai_p50_ns +1.00 ms +refused \(1\)/);
  });

  test("names each reason once, and says that its numbers are of one run", () => {
    const other = { ...BOUND, why: "12 of 310 watched addresses show one" };
    const text = sentences([SOME, other, NOTHING]);
    expect(text).toContain("(1) 8 of 99 watched addresses show one (2) no write seen in the run");
    expect(text).not.toContain("12 of 310");
    expect(text).toContain("(1) to (2): the most frequent reason. Its numbers are of one run and one figure.");
  });

  test("explains the names that it shows, no others, and where all are explained", () => {
    const text = sentences([SOME]);
    expect(text).toContain("iai: time from a use of a byte to its next use.");
    expect(text).toContain("p50, p90, p99: as long at most for 50, 90 and 99 %.");
    expect(text).not.toContain("still_needed");
    expect(text).toContain("`mrm-trace schema metrics` defines them all, as does docs/metrics.md.");
  });

  test("ends with how many figures would be had, and what to change for more", () => {
    const figures = [SOME, BOUND, { ...BOUND, ok: 1, refused: 19, bound: 0 }, NOTHING];
    expect(sentences(figures).trim()).toEndWith(
      "2 of 4 figures would be had, 1 of them as bounds; 1 more has nothing to tell. " +
        "A longer `run` (600 s at most) or a larger `budget` may give more.",
    );
    expect(sentences(figures, { run_s: 600 }).trim()).toEndWith("A larger `budget` may give more.");
    expect(sentences(figures, { run_s: 600, budget_pct: 50 }).trim()).toEndWith("1 more has nothing to tell.");
    expect(sentences([{ ...SOME, ok: 20, bound: 0 }]).trim()).toEndWith("1 of 1 figure would be had.");
  });

  test("gives an end of an interval that is far from the value a unit of its own", () => {
    const figure = { ...SOME, metric: "still_needed_p50_ns", unit: "ns", value: 0, lo: 0, hi: 515_084 };
    expect(textOf([{ ...figure, why: null, ok: 20, bound: 0 }])).toMatch(/ 0 ns \[0, 516 .s\]/);
  });

  test.each([20, 40, 80, 120])("fits into %d columns", (width) => {
    for (const line of textOf([SOME, BOUND, NOTHING], {}, width).split("\n"))
      expect(line.length).toBeLessThanOrEqual(width);
  });
});
