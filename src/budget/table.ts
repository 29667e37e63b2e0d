/** A run against a budget as lines for a person. */
import { type GridRow, grid } from "../report/grid.ts";
import { entry } from "../report/run-lines.ts";
import { type Ink, type Line, render, type Terminal } from "../report/terminal.ts";
import type { BudgetCheck, BudgetVerdict } from "../schema/budget-check.ts";
import { formatCounted } from "../units.ts";
import { limitText, measuredText, subject } from "./words.ts";

const INK: Readonly<Record<BudgetVerdict, Ink>> = { within: "good", beyond: "bad", open: "warn" };

/** One line on all limits. */
export function summary({ checks, verdict, name }: BudgetCheck): string {
  const count = (wanted: BudgetVerdict): number => checks.filter((check) => check.verdict === wanted).length;
  return `${name}: ${verdict}; ${formatCounted(checks.length, "limit")}, ${count("beyond")} beyond, ${count("open")} open`;
}

/** As text; every line fits into the terminal, and none begins with a word from outside. */
export function renderCheck(check: BudgetCheck, terminal: Terminal): string {
  const { width, unicode } = terminal;
  const rows = check.checks.map(
    (limit): GridRow => ({
      label: limit.verdict,
      cells: [
        [{ text: subject(limit), ink: "bold" }],
        [{ text: measuredText(limit), ink: INK[limit.verdict] }],
        [{ text: limitText(limit), ink: "dim" }],
      ],
    }),
  );
  const reasons = check.checks.filter(({ verdict, why }) => verdict !== "within" && why !== null && why !== "");
  const lines: Line[] = [
    ...grid(["limit of", "measured", "may be"], rows, width, unicode ? "─" : "-"),
    [],
    ...reasons.flatMap((limit, i) => entry(i === 0 ? "why" : "", `${subject(limit)}: ${limit.why}`, width, "dim")),
    ...entry("verdict", summary(check), width, INK[check.verdict]),
    ...entry("run", check.run_dir, width, "dim"),
  ];
  return render(lines, terminal);
}
