/** How the figures of the page are made: the definition and the estimator of every metric that it shows. */
import { METRICS } from "../../analyse/metrics/registry.ts";
import type { RunReport } from "../../schema/run-json.ts";
import { printable } from "../terminal.ts";
import { type Html, html } from "./html.ts";

/** Metrics of which one of the reports has a row, each with how it is estimated and when it is held back. */
export function estimatesOf(reports: readonly RunReport[]): Html {
  const used = new Set(reports.flatMap(({ metrics }) => metrics.map(({ metric }) => metric)));
  const families = METRICS.filter(({ metrics }) => metrics.some(({ name }) => used.has(name)));
  const entries = families.map(({ metrics, estimator, suppressed }) => {
    const words = metrics
      .filter(({ name }) => used.has(name))
      .map(
        ({ name, unit, definition }) => html`<dt>${name} <small>${unit}</small></dt><dd>${printable(definition)}</dd>`,
      );
    const points = estimator.map((point) => html`<dd>${printable(point)}</dd>`);
    return html`<div class="family">${words}<dt class="how">estimated by</dt>${points}<dt class="how">held back</dt><dd>${printable(suppressed)}</dd></div>`;
  });
  return html`<details class="estimates"><summary>${used.size} metrics: definition, estimator, and when a figure is held back</summary><dl>${entries}</dl></details>`;
}
