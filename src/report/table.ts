/** What a run prints for people. */
import type { RunReport } from "../schema/run-json.ts";
import { classTable } from "./class-table.ts";
import { invarianceTable } from "./invariance-table.ts";
import { moreTimeLine } from "./more-time-line.ts";
import { processTable } from "./process-table.ts";
import { runHeader, runVerdict } from "./run-lines.ts";
import { render, type Terminal } from "./terminal.ts";

/** The run as text: what ran, what it used, the class table, the verdict. Every line fits into the terminal and ends with a newline. */
export function renderRun(report: RunReport, terminal: Terminal): string {
  const lines = [
    ...runHeader(report, terminal),
    ...processTable(report, terminal),
    [],
    ...classTable(report, terminal),
    ...moreTimeLine(report, terminal),
    ...invarianceTable(report, terminal),
    [],
    ...runVerdict(report, terminal),
  ];
  return render(lines, terminal);
}
