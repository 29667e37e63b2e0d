/** What `simulate` prints for people. */
import type { SimulatedFigure, Simulation } from "../schema/simulation.ts";
import { formatCount, formatCounted, formatNs, withoutNumbers } from "../units.ts";
import { intervalText, scaleOf, withUnit } from "./figure.ts";
import { type GridRow, grid } from "./grid.ts";
import { answerOf, simulationNotes } from "./simulation-notes.ts";
import { type Line, render, type Terminal, wrap } from "./terminal.ts";

const COLUMNS = ["truth", "says", "+-", "value/bound/none", "true"];

/** Where the definition leaves it open, both ends, unless they are told alike. */
function truthText({ truth, unit }: SimulatedFigure, runNs: number): string {
  if (truth === null) return "none";
  const { lo, hi } = truth;
  if (lo === null) return `> ${formatNs(runNs)}`;
  const [low, high] = [withUnit(lo, unit), hi === null ? "more" : withUnit(hi, unit)];
  return low === high ? low : `${low} to ${high}`;
}

/** What most of the runs said: a value, a bound or nothing. */
function saysText(figure: SimulatedFigure, reasonOf: (why: string) => number): Line {
  const { truth, value, lo, hi, bound_lo, bound_hi, unit, ok, why } = figure;
  const answer = answerOf(figure);
  const reason: Line = why === null || ok === figure.runs ? [] : [{ text: ` (${reasonOf(why)})`, ink: "dim" }];
  if (answer === "value" && value !== null) {
    const interval: Line[number] = { text: ` ${intervalText({ lo, hi, unit }, scaleOf(unit, value))}`, ink: "dim" };
    return [{ text: withUnit(value, unit), ink: "bold" }, interval, ...reason];
  }
  if (answer !== "bound") return [{ text: truth === null ? "nothing to tell" : "refused", ink: "dim" }, ...reason];
  const isLower = bound_lo !== null && (bound_lo > 0 || bound_hi === null);
  const lower = isLower ? [`≥ ${withUnit(bound_lo, unit, "down")}`] : [];
  const upper = bound_hi === null ? [] : [`≤ ${withUnit(bound_hi, unit, "up")}`];
  return [{ text: [...lower, ...upper].join(", "), ink: "warn" }, ...reason];
}

function rowOf(figure: SimulatedFigure, runNs: number, reasonOf: (why: string) => number): GridRow {
  const { metric, step, ok, bound, refused, held, right, half_width_pct } = figure;
  const within = step === "all" || metric.endsWith("_per_token") ? "" : `, ${step}`;
  const cells = [
    half_width_pct === null ? "" : `${formatCount(half_width_pct)} %`,
    `${ok}/${bound}/${refused}`,
    ok + bound === 0 ? "" : `${ok === 0 ? "-" : held}/${bound === 0 ? "-" : right}`,
  ];
  return {
    label: `  ${metric}${within}`,
    cells: [[{ text: truthText(figure, runNs) }], saysText(figure, reasonOf), ...cells.map((text): Line => [{ text }])],
  };
}

/** The figures as text, class by class; every line fits into the terminal. */
export function renderSimulation(simulation: Simulation, terminal: Terminal): string {
  const { width, unicode } = terminal;
  // Of reasons that differ in their numbers only, the first stands for all.
  const reasons = new Map<string, string>();
  const reasonOf = (why: string): number => {
    const alike = withoutNumbers(why);
    if (!reasons.has(alike)) reasons.set(alike, why);
    return [...reasons.keys()].indexOf(alike) + 1;
  };
  const classes = Map.groupBy(simulation.figures, ({ region_type }) => region_type);
  const rows = [...classes].flatMap(([name, figures]): GridRow[] => [
    { label: name, heading: true, cells: [] },
    ...figures.map((figure) => rowOf(figure, 1e9 * simulation.run_s, reasonOf)),
  ]);
  const { world, seeds, first_seed, run_s, budget_pct } = simulation;
  const drawn = seeds === 1 ? `seed ${first_seed}` : `seeds ${first_seed} to ${first_seed + seeds - 1}`;
  const runs = `${formatCounted(seeds, "run")} of ${formatNs(run_s * 1e9)}, budget ${formatCount(budget_pct)} %, ${drawn}`;
  const lines: Line[] = [
    [{ text: world, ink: "bold" }],
    ...wrap(runs, width).map((text): Line => [{ text }]),
    [],
    ...grid(COLUMNS, rows, width, unicode ? "─" : "-"),
    [],
    ...simulationNotes(simulation, [...reasons.values()], width),
  ];
  return render(lines, terminal);
}
