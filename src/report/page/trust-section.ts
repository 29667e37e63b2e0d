/** How far a run may be trusted: validity with its reasons, what watching cost, what was lost and why, warnings. */
import { inNumbers, placeWords } from "../../schema/ledger.ts";
import type { RunReport } from "../../schema/run-json.ts";
import { formatCount } from "../../units.ts";
import { costText, lossInShort } from "../run-lines.ts";
import { printable } from "../terminal.ts";
import { termList } from "./answer-section.ts";
import { type Html, html } from "./html.ts";

const list = (texts: readonly string[]): Html | null =>
  texts.length === 0 ? null : html`<ul>${texts.map((text) => html`<li>${printable(text)}</li>`)}</ul>`;

function lossTable(report: RunReport): Html {
  const rows = inNumbers(report.ledger).map((row) => {
    const causes = Object.entries(row.dropped_by).map(
      ([cause, n]) => `${formatCount(n)} ${cause.replaceAll("_", " ")}`,
    );
    const unseen = row.unseen_estimate ?? 0;
    const texts = [...causes, ...(unseen > 0 ? [`about ${formatCount(Math.round(unseen))} never seen`] : [])];
    const counts = [row.seen, row.kept, row.filtered, row.dropped].map((n) => html`<td>${formatCount(n)}</td>`);
    return html`<tr><th scope="row">${printable(placeWords(row))}</th>${counts}<td>${printable(texts.join(", "))}</td></tr>`;
  });
  const heads = ["seen", "kept", "filtered", "dropped", "causes"].map((name) => html`<th scope="col">${name}</th>`);
  return html`<details><summary>What each stage saw, kept and dropped</summary><div class="scroll" tabindex="0" role="region" aria-label="the ledger of events"><table class="figures ledger"><thead><tr><td></td>${heads}</tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

/** The verdict on one run. */
export function trustOfRun(report: RunReport): Html {
  const unmeasured =
    report.not_measured.length === 0 ? null : `${report.not_measured.join(", ")}; this machine does not tell`;
  return html`${termList([
    ["validity", html`<strong class="validity ${report.validity}">${report.validity}</strong>${list(report.reasons)}`],
    ["not measured", unmeasured],
    ["cost", list(costText(report))],
    ["lost", lossInShort(report)],
    ["warnings", list(report.warnings)],
  ])}${lossTable(report)}`;
}
