/** What the target used as a whole, by phase: the first sizes that are printed, since they are of memory in use. */
import type { ReportMetric, RunReport } from "../schema/run-json.ts";
import { figureSpans, isFigure } from "./figure.ts";
import { type GridRow, grid } from "./grid.ts";
import { PROCESS_SECTIONS } from "./table-order.ts";
import { type Line, type Terminal, wrap } from "./terminal.ts";

/** Columns, in the order of a run; generation stands as its steps. */
const COLUMNS = [
  ["whole run", "all", "all"],
  ["loading", "weight_load", "all"],
  ["prefill", "generation", "prefill"],
  ["decode", "generation", "decode"],
  ["idle", "idle", "all"],
  ["teardown", "teardown", "all"],
] as const;
const NOTE =
  "read from /proc every 100 ms; an interval or a bound holds whatever was between two readings; what shares memory counts it each, but for the proportional size";

/** The figure; exact ones without their interval, which says nothing more. */
function cell(row: ReportMetric | undefined): Line {
  if (row === undefined || !isFigure(row)) return [{ text: "-", ink: "dim" }];
  return figureSpans(row.lo === row.hi ? { ...row, lo: null, hi: null } : row);
}

/** Phases side by side, a blank line first; nothing where no figure of the target is known. */
export function processTable(report: RunReport, { width, unicode }: Terminal): Line[] {
  const figures = report.metrics.filter((row) => row.scope === "process" && isFigure(row));
  const columns = COLUMNS.filter(([, phase, step]) => figures.some((row) => row.phase === phase && row.step === step));
  if (columns.length === 0) return [];
  const rows = PROCESS_SECTIONS.flatMap(([heading, members]): GridRow[] => {
    const shown = members.filter(([metric]) => figures.some((row) => row.metric === metric));
    if (shown.length === 0) return [];
    const cells = (metric: string): Line[] =>
      columns.map(([, phase, step]) =>
        cell(figures.find((row) => row.metric === metric && row.phase === phase && row.step === step)),
      );
    return [
      { label: heading, heading: true, cells: [] },
      ...shown.map(([metric, label]) => ({ label: `  ${label}`, cells: cells(metric) })),
    ];
  });
  const names = columns.map(([name]) => name);
  const note = wrap(NOTE, Math.max(10, width - 2)).map((text): Line => [{ text: `  ${text}`, ink: "dim" }]);
  return [[], ...grid(names, rows, width, unicode ? "─" : "-"), ...note];
}
