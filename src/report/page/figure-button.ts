/** A figure on the page: its text, and what it rests on for who points at it, focuses it or has it read out. */
import type { ReportMetric } from "../../schema/run-json.ts";
import { formatBytes, formatCount, formatNs, isShown } from "../../units.ts";
import { figureSpans, isFigure } from "../figure.ts";
import { type Line, printable } from "../terminal.ts";
import { type Html, html } from "./html.ts";

/** Gives each description an id that no other on the page has. */
export type NextId = () => string;

/** A counter of ids with a prefix. */
export function countIds(prefix: string): NextId {
  let last = 0;
  return () => `${prefix}${++last}`;
}

/** Spans of a line of the terminal as elements with the same ink. */
export function inked(line: Line): Html[] {
  return line.map(({ text, ink = "plain" }) =>
    ink === "plain" ? html`${printable(text)}` : html`<span class="${ink}">${printable(text)}</span>`,
  );
}

function placeText({ phase, step, source, grain_bytes }: ReportMetric): string {
  const span = step === "all" ? (phase === "all" ? "the whole run" : phase) : step;
  const grain = grain_bytes === null ? "" : `, grain ${formatBytes(grain_bytes)}`;
  return `from ${source}, over ${span}${grain}`;
}

function samplesText({ n, n_censored }: ReportMetric): string {
  const censored = Number(n_censored) > 0 ? `, ${formatCount(Number(n_censored))} of them censored` : "";
  return `n = ${formatCount(Number(n))}${censored}`;
}

/** What a figure rests on, a line each: the whole interval, samples, source, method, share covered, reason. */
export function explanation(metric: ReportMetric): string[] {
  const figure = figureSpans(metric)
    .map(({ text }) => text)
    .join("");
  const level =
    isShown(metric.ci_level) && isFigure(metric) ? ` (${Number((100 * metric.ci_level).toFixed(1))} %)` : "";
  const coverage = isShown(metric.coverage)
    ? [`stands for ${Number((100 * metric.coverage).toPrecision(3))} % of the bytes or of the time`]
    : [];
  const window = Number(metric.window_ns);
  const lost =
    isShown(metric.lost_pct) && metric.lost_pct > 0
      ? [`${Number(metric.lost_pct.toPrecision(3))} % of its events lost`]
      : [];
  return [
    `${metric.metric}: ${figure}${level}`,
    `${samplesText(metric)}; ${placeText(metric)}`,
    ...(metric.method === "" || metric.method === "none" ? [] : [`method: ${metric.method}`]),
    ...(window > 0 ? [`seen over ${formatNs(window)}`] : []),
    ...coverage,
    ...lost,
    ...(metric.why === null || metric.why === "" ? [] : [`reason: ${metric.why}`]),
  ].map(printable);
}

/** The line as something to point at; plain text where there is no figure behind it. */
export function figureButton(line: Line, metric: ReportMetric | null, nextId: NextId): Html {
  if (metric === null) return html`${inked(line)}`;
  const id = nextId();
  return html`<button type="button" class="figure" aria-describedby="${id}">${inked(line)}</button><span id="${id}" hidden>${explanation(metric).join("\n")}</span>`;
}
