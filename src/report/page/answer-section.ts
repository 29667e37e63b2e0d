/** The answer on the page: what ran, and what each class of data asks of a memory, with the numbers of the terminal. */
import type { RunReport } from "../../schema/run-json.ts";
import { failureText } from "../answer.ts";
import { type AnswerCell, type AnswerRow, answeredClasses, answerRows, rssPeak, unlearntText } from "../answer-rows.ts";
import { COLOURED } from "../browser/coloured-classes.ts";
import { type DataClass, dataClasses } from "../classes.ts";
import { activationsText, expertsText } from "../engine-lines.ts";
import { isFigure } from "../figure.ts";
import { moreTimeText } from "../more-time-line.ts";
import {
  costInShort,
  engineText,
  lossInShort,
  parametersText,
  targetText,
  titleText,
  tokensText,
} from "../run-lines.ts";
import { countsText, requestsInShort, requestsText } from "../server-lines.ts";
import { shortFigure } from "../short-figure.ts";
import { printable } from "../terminal.ts";
import { figureButton, type NextId } from "./figure-button.ts";
import { type Html, html } from "./html.ts";

/** What each row asks, for who sees the table for the first time. */
const MEANING: Readonly<Record<string, string>> = {
  "in memory":
    "most bytes in memory at one look; a range where more may have been between two looks, ≤ where nobody looked",
  "working set": "bytes touched within two decode calls, or 100 ms without an engine",
  read: "bytes per second that loads of the CPU asked for: not DRAM traffic, as caches answer most",
  written: "bytes per second that its stores wrote, into caches first",
  "reads per write": "how often a byte is read before it is written again",
  "never rewritten": "share of the written places that are never rewritten",
  "kept for, p50": "time from a write to its last read, for half of the writes",
  "kept for, p99": "the same for 99 of 100 writes",
  "most alive at once": "most bytes that were allocated and not freed, as memray counts them",
  "allocated in all": "bytes of all allocations",
  allocations: "how many there were",
  "freed after, p50": "time from an allocation to its end, for half of the bytes",
  "freed after, p99": "the same for 99 of 100 bytes",
  "suits retention": "whether a memory that forgets after a while could hold it",
};

const HATCHED = "A hatched bar, like ≤, is a bound: the figure lies somewhere below its end.";

/** The name of a class with its colour. */
export function className(name: string): Html {
  return html`<span class="class ${COLOURED.has(name) ? name : "other"}">${printable(name)}</span>`;
}

/** The head of a class's column; it says where the class was guessed. */
export function classHead({ name, guessed_bytes }: DataClass): Html {
  return html`<th scope="col">${className(name)}${guessed_bytes > 0 ? html`<small>by a guess</small>` : null}</th>`;
}

function cellOf({ line, metric, bytes, isBound }: AnswerCell, most: number, nextId: NextId): Html {
  const kind = isBound ? "bound" : "value";
  const bar =
    bytes === null
      ? null
      : html`<meter class="${kind}" min="0" max="${most}" value="${bytes}" aria-hidden="true"></meter>`;
  return html`<td>${figureButton(line, metric, nextId)}${bar}</td>`;
}

/** Of a class without any figure the table would say so in every cell. */
const isSilent = (rows: readonly AnswerRow[], i: number): boolean =>
  rows.every(({ cells }) => {
    const { metric = null, bytes = null } = cells[i] ?? {};
    return bytes === null && (metric === null || metric.label === "insufficient" || !isFigure(metric));
  });

function answerTable(report: RunReport, nextId: NextId): Html {
  const { shown: all } = answeredClasses(dataClasses(report), Number.POSITIVE_INFINITY);
  const silent = all.filter((_, i) => isSilent(answerRows(all, report), i));
  const shown = all.filter((dataClass) => !silent.includes(dataClass));
  const rows = answerRows(shown, report);
  const unlearnt = unlearntText(rows);
  const rest = unlearnt === null ? null : html`<p class="warn">${unlearnt}</p>`;
  if (rows.length === 0) return html`${rest}`;
  const body = rows.map(({ label, about, cells }) => {
    const most = Math.max(1, ...cells.map(({ bytes }) => bytes ?? 0));
    const meaning = MEANING[label] ?? "";
    return html`<tr class="${about}"><th scope="row">${label}<small>${meaning}</small></th>${cells.map((cell) => cellOf(cell, most, nextId))}</tr>`;
  });
  const heads = shown.map(classHead);
  const hatched = rows.some(({ cells }) => cells.some(({ isBound }) => isBound))
    ? html`<p class="about">${HATCHED}</p>`
    : null;
  const others = silent.map(({ name }) => name).join(", ");
  return html`<div class="scroll" tabindex="0" role="region" aria-label="the answer, a column for each class of data"><table class="answer"><thead><tr><td></td>${heads}</tr></thead><tbody>${body}</tbody></table></div>${rest}${hatched}${others === "" ? null : html`<p class="about">Too little was seen of: ${printable(others)}.</p>`}`;
}

/** A list of words and what they stand for; entries without a text are left out. */
export function termList(entries: readonly (readonly [term: string, text: string | Html | null])[]): Html {
  const rows = entries
    .filter(([, text]) => text !== null)
    .map(
      ([term, text]) => html`<div><dt>${term}</dt><dd>${typeof text === "string" ? printable(text) : text}</dd></div>`,
    );
  return html`<dl>${rows}</dl>`;
}

/** One run: a sentence on what ran, the table of classes, what it cost and lost, and what would sharpen it. */
export function answerOfRun(report: RunReport, nextId: NextId): Html {
  const failure = failureText(report);
  const peak = rssPeak(report);
  const parameters = parametersText(report);
  return html`${failure === null ? null : html`<p class="bad" role="alert">${printable(failure)}</p>`}
${termList([
  ["engine", engineText(report)],
  ["model", parameters === null ? null : `${titleText(report)}, ${parameters}`],
  ["process", targetText(report)],
  ["peak RSS", peak === undefined || !isFigure(peak) ? null : html`${figureButton(shortFigure(peak), peak, nextId)}`],
  ["tokens", tokensText(report)],
  ["requests", requestsInShort(report) === null ? null : requestsText(report)],
  ["server", countsText(report)],
  ["experts", expertsText(report)],
  ["computed", activationsText(report)],
])}
${answerTable(report, nextId)}
${termList([
  ["cost", costInShort(report)],
  ["lost", lossInShort(report)],
  [
    "validity",
    html`<strong class="validity ${report.validity}">${report.validity}</strong>${report.reasons.length === 0 ? null : html`: ${printable(report.reasons.join("; "))}`}`,
  ],
  ["sharper", moreTimeText(report)],
])}`;
}
