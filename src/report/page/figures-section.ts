/** Every figure of a run as a table that is read by class, each with what it rests on. */
import type { RunReport } from "../../schema/run-json.ts";
import { formatBytes } from "../../units.ts";
import { type DataClass, dataClasses, grainsOf, shownMetric } from "../classes.ts";
import { figureSpans } from "../figure.ts";
import { PROCESS_SECTIONS, SECTIONS } from "../table-order.ts";
import { printable } from "../terminal.ts";
import { classHead } from "./answer-section.ts";
import { figureButton, type NextId } from "./figure-button.ts";
import { type Html, html } from "./html.ts";

function cellOf(dataClass: DataClass, metric: string, grain: number | null, nextId: NextId): Html {
  const row = shownMetric(dataClass, metric, grain);
  return html`<td>${row === undefined ? "-" : figureButton(figureSpans(row), row, nextId)}</td>`;
}

/** Classes with a figure or a reason: kinds of mapping of which nothing is told would be columns of dashes. */
const speaking = (dataClass: DataClass): boolean => dataClass.labelled || dataClass.metrics.length > 0;

function classTable(report: RunReport, nextId: NextId): Html {
  const classes = dataClasses(report).filter(speaking);
  const listed = new Set(SECTIONS.flatMap(([, rows]) => rows.map(([metric]) => metric)));
  const others = [...new Set(classes.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)))].filter(
    (metric) => !listed.has(metric),
  );
  const sections = [...SECTIONS, ["other", others.map((metric) => [metric, metric] as const)] as const];
  const bodies = sections.map(([heading, members]) => {
    const rows = members.flatMap(([metric, label]) => {
      if (!classes.some(({ metrics }) => metrics.some((row) => row.metric === metric))) return [];
      return grainsOf(classes, metric).map(
        (grain) =>
          html`<tr><th scope="row">${label}${grain === null ? "" : `, ${formatBytes(grain)}`}</th>${classes.map((dataClass) => cellOf(dataClass, metric, grain, nextId))}</tr>`,
      );
    });
    if (rows.length === 0) return html``;
    return html`<tbody><tr class="heading"><th scope="rowgroup" colspan="${classes.length + 1}">${heading}</th></tr>${rows}</tbody>`;
  });
  const heads = classes.map(classHead);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="every figure of each class of data"><table class="figures"><thead><tr><td></td>${heads}</tr></thead>${bodies}</table></div>`;
}

/** What the traced processes used as a whole, whole run first. */
function processTable(report: RunReport, nextId: NextId): Html | null {
  const rows = report.metrics.filter(({ scope }) => scope === "process");
  const spans = [...new Set(rows.map(({ phase, step }) => (step === "all" ? phase : step)))];
  if (rows.length === 0) return null;
  const bodies = PROCESS_SECTIONS.map(([heading, members]) => {
    const lines = members.flatMap(([metric, label]) => {
      const found = rows.filter((row) => row.metric === metric);
      if (found.length === 0) return [];
      const cells = spans.map((span) => {
        const row = found.find(({ phase, step }) => (step === "all" ? phase : step) === span);
        return html`<td>${row === undefined ? "-" : figureButton(figureSpans(row), row, nextId)}</td>`;
      });
      return [html`<tr><th scope="row">${label}</th>${cells}</tr>`];
    });
    if (lines.length === 0) return html``;
    return html`<tbody><tr class="heading"><th scope="rowgroup" colspan="${spans.length + 1}">${heading}</th></tr>${lines}</tbody>`;
  });
  const heads = spans.map((span) => html`<th scope="col">${span === "all" ? "whole run" : printable(span)}</th>`);
  return html`<h4>The traced processes as a whole</h4><div class="scroll" tabindex="0" role="region" aria-label="what the traced processes used as a whole"><table class="figures"><thead><tr><td></td>${heads}</tr></thead>${bodies}</table></div>`;
}

/** The figures of one run. */
export function figuresOfRun(report: RunReport, nextId: NextId): Html {
  return html`${classTable(report, nextId)}${processTable(report, nextId)}`;
}
