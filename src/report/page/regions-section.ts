/** The figures of single regions as a table: those on which enough watches fell, or that a whole trace counts. */
import { isFigure } from "../figure.ts";
import { shortFigure } from "../short-figure.ts";
import { printable } from "../terminal.ts";
import { className } from "./answer-section.ts";
import type { RegionFigures } from "./data/read-region-figures.ts";
import { figureButton, type NextId } from "./figure-button.ts";
import { type Html, html } from "./html.ts";

/** Short names of the figures of a region, in the order of the columns. */
const COLUMNS = [
  ["resident_bytes", "in memory"],
  ["read_bytes_per_s", "read"],
  ["write_bytes_per_s", "written"],
  ["total_reads", "reads"],
  ["total_writes", "writes"],
  ["reads_per_write", "reads per write"],
  ["write_once_ratio", "never rewritten"],
  ["iai_p50_ns", "between accesses"],
  ["age_at_read_p50_ns", "age at read"],
  ["retention_p50_ns", "kept for, p50"],
  ["retention_p99_ns", "kept for, p99"],
  ["retention_span_ns", "kept"],
  ["working_set_bytes", "working set"],
] as const;

/** One row for each region; a sentence where no region has a figure of its own. */
export function regionFigures(regions: readonly RegionFigures[], nextId: NextId): Html {
  const heading = html`<h3>Figures of single regions</h3>`;
  if (regions.length === 0) {
    return html`${heading}<p class="about">None has any: 30 watches must fall on a region, and the classes share them. A longer run has more.</p>`;
  }
  const columns = COLUMNS.filter(([metric]) =>
    regions.some(({ metrics }) => metrics.some((row) => row.metric === metric && isFigure(row))),
  );
  const rows = regions.map(({ name, class: type, layer, metrics }) => {
    const cells = columns.map(([metric]) => {
      const found = metrics.filter((row) => row.metric === metric);
      const row = found.find(isFigure) ?? found[0];
      return html`<td>${figureButton(shortFigure(row), row ?? null, nextId)}</td>`;
    });
    return html`<tr><th scope="row">${printable(name)}</th><td>${className(type)}</td><td>${layer ?? "-"}</td>${cells}</tr>`;
  });
  const heads = ["region", "class", "layer", ...columns.map(([, label]) => label)];
  return html`${heading}<div class="scroll" tabindex="0" role="region" aria-label="figures of single regions"><table class="figures"><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table></div>`;
}
