/** What `simulate` says below its table: how to read it, what its names mean, why, and how much would be had. */
import { MOST_BUDGET_PCT, MOST_RUN_S } from "../config/world-schema.ts";
import type { SimulatedFigure, Simulation } from "../schema/simulation.ts";
import { type Line, wrap } from "./terminal.ts";

/** What most of the runs said of a figure. */
export function answerOf({ ok, bound, refused, value }: SimulatedFigure): "value" | "bound" | "refused" {
  if (ok >= bound && ok >= refused && value !== null) return "value";
  return bound < refused ? "refused" : "bound";
}

const HOW =
  "truth: by definition, from every access. says: what most of the runs said, as medians with the 95 % interval. +-: half of the " +
  "interval, in percent of the truth. value/bound/none: how many runs gave which. true: how many of these values and of these bounds hold the truth.";

/** In few words, by how the names begin; docs/metrics.md is exact. */
const NAMES: readonly (readonly [name: string, meaning: string])[] = [
  ["hits_per_pass", "accesses to a byte each time that it is used"],
  ["iai", "time from a use of a byte to its next use"],
  ["reads_per_write", "times that it is read for each time that it is written"],
  ["write_once_ratio", "share of the written words that are written once only"],
  ["age_at_read", "time from the last write of a byte to a read of it"],
  ["retention", "time from a write to the last read of what it wrote"],
  ["next_use", "time from any moment to the next use of a byte"],
  ["still_needed", "time from any moment to the last read of what a byte holds then"],
  ["working_set_bytes", "bytes used within 100 ms, or within two tokens of decode"],
];
const QUANTILES = "p50, p90, p99: as long at most for 50, 90 and 99 %.";
const DEFINED = "`mrm-trace schema metrics` defines them all, as does docs/metrics.md.";

function names({ figures }: Simulation): string {
  const shown = NAMES.filter(([name]) => figures.some(({ metric }) => metric.startsWith(name)));
  const quantiles = figures.some(({ metric }) => /_p\d\d/.test(metric)) ? [QUANTILES] : [];
  return [...shown.map(([name, meaning]) => `${name}: ${meaning}.`), ...quantiles, DEFINED].join(" ");
}

function reasonsLead(count: number): string {
  return `(1)${count > 1 ? ` to (${count})` : ""}: the most frequent reason. Its numbers are of one run and one figure.`;
}

/** How many figures a run would tell, and what to change for more. */
function outcome({ figures, run_s, budget_pct }: Simulation): string {
  const count = (wanted: string): number => figures.filter((figure) => answerOf(figure) === wanted).length;
  const [values, bounds] = [count("value"), count("bound")];
  const empty = figures.filter((figure) => answerOf(figure) === "refused" && figure.truth === null).length;
  const ofAll = `${values + bounds} of ${figures.length} ${figures.length === 1 ? "figure" : "figures"} would be had`;
  const asBounds = bounds === 0 ? "" : `, ${bounds} of them as bounds`;
  const nothing = empty === 0 ? "" : `; ${empty} more ${empty === 1 ? "has" : "have"} nothing to tell`;
  const changes = [
    ...(run_s < MOST_RUN_S ? [`a longer \`run\` (${MOST_RUN_S} s at most)`] : []),
    ...(budget_pct < MOST_BUDGET_PCT ? ["a larger `budget`"] : []),
  ].join(" or ");
  const isMoreToHave = values + empty < figures.length && changes !== "";
  const more = isMoreToHave ? ` ${changes.replace(/^a/, "A")} may give more.` : "";
  return `${ofAll}${asBounds}${nothing}.${more}`;
}

/** @param reasons in the order of their numbers */
export function simulationNotes(simulation: Simulation, reasons: readonly string[], width: number): Line[] {
  const dim = (text: string): Line[] => wrap(text, width).map((part): Line => [{ text: part, ink: "dim" }]);
  const plain = (text: string): Line[] => wrap(text, width).map((part): Line => [{ text: part }]);
  return [
    ...dim(HOW),
    ...dim(names(simulation)),
    ...(reasons.length === 0 ? [] : [[], ...dim(reasonsLead(reasons.length))]),
    ...reasons.flatMap((why, i) => plain(`(${i + 1}) ${why}`)),
    [],
    ...plain(outcome(simulation)),
  ];
}
