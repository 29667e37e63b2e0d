/** What `simulate` prints for people. */
import type { SimulatedFigure, Simulation } from "../schema/simulation.ts";
import { formatCount, formatCounted, formatIn, formatNs } from "../units.ts";
import { scaleOf } from "./figure.ts";
import { type GridRow, grid } from "./grid.ts";
import { type Line, render, type Terminal, wrap } from "./terminal.ts";

const COLUMNS = ["truth", "says", "+-", "ok/bound/none", "true"];

const share = (part: number, all: number): string => String(Math.round((100 * part) / all));

function textOf(value: number, unit: string): string {
  const scale = scaleOf(unit, value);
  return formatIn(value, scale) + scale.unit;
}

/** Where the definition leaves it open, both ends, unless they are told alike. */
function truthText({ truth, unit }: SimulatedFigure, runNs: number): string {
  if (truth === null) return "none";
  const { lo, hi } = truth;
  if (lo === null) return `> ${formatNs(runNs)}`;
  const [low, high] = [textOf(lo, unit), hi === null ? "more" : textOf(hi, unit)];
  return low === high ? low : `${low} to ${high}`;
}

/** What most of the runs said: a value, a bound or nothing. */
function saysText(figure: SimulatedFigure, reasonOf: (why: string) => number): Line {
  const { ok, bound, refused, value, lo, hi, bound_lo, bound_hi, unit, why } = figure;
  const reason: Line = why === null || ok === figure.runs ? [] : [{ text: ` (${reasonOf(why)})`, ink: "dim" }];
  if (ok >= bound && ok >= refused && value !== null) {
    const scale = scaleOf(unit, value);
    const end = (x: number | null): string => (x === null ? "?" : formatIn(x, scale));
    const interval = ` [${end(lo)}, ${end(hi)}]`;
    return [{ text: formatIn(value, scale) + scale.unit, ink: "bold" }, { text: interval, ink: "dim" }, ...reason];
  }
  if (bound < refused) return [{ text: "refused", ink: "dim" }, ...reason];
  const isLower = bound_lo !== null && (bound_lo > 0 || bound_hi === null);
  const lower = isLower ? [`≥ ${textOf(bound_lo, unit)}`] : [];
  const upper = bound_hi === null ? [] : [`≤ ${textOf(bound_hi, unit)}`];
  return [{ text: [...lower, ...upper].join(", "), ink: "warn" }, ...reason];
}

function rowOf(figure: SimulatedFigure, runNs: number, reasonOf: (why: string) => number): GridRow {
  const { metric, step, runs, ok, bound, refused, held, right, half_width_pct } = figure;
  const within = step === "all" || metric.endsWith("_per_token") ? "" : `, ${step}`;
  const answers = ok + bound;
  const cells = [
    half_width_pct === null ? "" : `${formatCount(half_width_pct)} %`,
    [ok, bound, refused].map((part) => share(part, runs)).join("/"),
    answers === 0 ? "" : `${share(held + right, answers)} %`,
  ];
  return {
    label: `  ${metric}${within}`,
    cells: [[{ text: truthText(figure, runNs) }], saysText(figure, reasonOf), ...cells.map((text): Line => [{ text }])],
  };
}

const HOW =
  "truth: by definition, from every access. says: what most of the runs said, as medians with the 95 % interval. +-: half of the " +
  "interval, in percent of the truth. ok/bound/none: percent of the runs. true: of the intervals and bounds, those that hold the truth.";

/** The figures as text, class by class; every line fits into the terminal. */
export function renderSimulation(simulation: Simulation, terminal: Terminal): string {
  const { width, unicode } = terminal;
  const reasons: string[] = [];
  const reasonOf = (why: string): number => {
    if (!reasons.includes(why)) reasons.push(why);
    return reasons.indexOf(why) + 1;
  };
  const classes = Map.groupBy(simulation.figures, ({ region_type }) => region_type);
  const rows = [...classes].flatMap(([name, figures]): GridRow[] => [
    { label: name, heading: true, cells: [] },
    ...figures.map((figure) => rowOf(figure, 1e9 * simulation.run_s, reasonOf)),
  ]);
  const { world, seeds, run_s, budget_pct } = simulation;
  const runs = `${formatCounted(seeds, "run")} of ${formatNs(run_s * 1e9)}, budget ${formatCount(budget_pct)} %`;
  const lines: Line[] = [
    [{ text: world, ink: "bold" }],
    [{ text: runs }],
    [],
    ...grid(COLUMNS, rows, width, unicode ? "─" : "-"),
    [],
    ...wrap(HOW, width).map((text): Line => [{ text, ink: "dim" }]),
    ...reasons.flatMap((why, i) => wrap(`(${i + 1}) ${why}`, width).map((text): Line => [{ text }])),
  ];
  return render(lines, terminal);
}
