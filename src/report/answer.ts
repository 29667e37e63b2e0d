/** The answer of a run in at most 24 lines: what ran, what each class of data needs, and how far that may be trusted. */
import { NO_PAGE, type RunReport } from "../schema/run-json.ts";
import { formatCounted } from "../units.ts";
import { type AnswerRow, answeredClasses, answerRows, rssPeak, unlearntText } from "./answer-rows.ts";
import { dataClasses, headOf } from "./classes.ts";
import { activationsText, expertsText } from "./engine-lines.ts";
import { figureSpans, isFigure } from "./figure.ts";
import { type GridRow, grid } from "./grid.ts";
import { invarianceText } from "./invariance-table.ts";
import { moreTimeText } from "./more-time-line.ts";
import {
  costInShort,
  engineText,
  entry,
  isWhole,
  lossInShort,
  parametersText,
  targetText,
  titleText,
  tokensText,
  VALIDITY_INK,
} from "./run-lines.ts";
import { countsInShort, requestsInShort } from "./server-lines.ts";
import { ascii, type Ink, type Line, render, type Terminal, widthOf } from "./terminal.ts";

/** More classes would need a second table; kinds of mapping can be many. */
const MOST_CLASSES = 4;
const MOST_LINES = 24;
const BAR_COLUMNS = 4;
/** What the figures of the table have behind them. */
const INTERVALS = "± 95 % interval";
/** What strangers to the table ask first, as many lines of it as find room. */
function signsOf(rows: readonly AnswerRow[]): string[] {
  const isKept = rows.some(({ label }) => label.startsWith("kept for"));
  const figures = rows.filter(({ about }) => about === "figure").flatMap(({ cells }) => cells);
  const isFew = figures.some(({ metric }) => metric?.status === "insufficient");
  const word = isKept ? "kept for: from write to last read" : isFew ? "too few seen: a longer run may tell" : null;
  return [
    ["≤ ≥ ░: only this end is known", word].filter((text) => text !== null).join("; "),
    "read, written: loads and stores, not DRAM traffic; idle time counts",
  ];
}
const MOST_SIGNS = signsOf([]).length;
/** Of a bar, and of the bar of a bound, which may end anywhere before. */
const [VALUE, BOUND] = ["█", "░"];

function sizeRow({ label, cells }: AnswerRow): GridRow {
  const most = Math.max(1, ...cells.map(({ bytes }) => bytes ?? 0));
  const barred = cells.map(({ line, bytes, isBound }): Line => {
    if (bytes === null) return line;
    const columns = bytes === 0 ? 0 : Math.max(1, Math.round((BAR_COLUMNS * bytes) / most));
    return [...line, { text: ` ${(isBound ? BOUND : VALUE).repeat(columns)}`, ink: "dim" }];
  });
  return { label, cells: barred };
}

function gridRows(rows: readonly AnswerRow[], unicode: boolean, isBarred: boolean): GridRow[] {
  const all = rows.map((row) =>
    row.about === "size" && isBarred ? sizeRow(row) : { label: row.label, cells: row.cells.map(({ line }) => line) },
  );
  if (unicode) return all;
  // Words stand for signs there, and columns must be as wide as those.
  const inAscii = (line: Line): Line => line.map((span) => ({ ...span, text: ascii(span.text) }));
  return all.map(({ label, cells }) => ({ label, cells: cells.map(inAscii) }));
}

/** The most memory of the target, in words; null where nobody read it. */
function peakText(report: RunReport): string | null {
  const row = rssPeak(report);
  if (row === undefined || !isFigure(row)) return null;
  // Of several processes only the ends may be known.
  const spans = figureSpans(row.value === null ? row : { ...row, lo: null, hi: null, status: "ok" });
  return `peak RSS ${spans.map(({ text }) => text).join("")}`;
}

/** A text cut at the width: whole it stands in the table. */
const oneLine = (key: string, text: string, width: number, ink?: Ink): Line[] =>
  entry(key, text, Math.max(width, widthOf(text) + width), ink);

/** A text in so many lines at most; one that has more is cut after its first. */
function fewLines(key: string, text: string, width: number, most: number, ink?: Ink): Line[] {
  const lines = entry(key, text, width, ink);
  return lines.length <= most ? lines : oneLine(key, text, width, ink);
}

/** How the command failed; null where it did not, or nobody saw its end. */
export function failureText({ target, stopped_by }: RunReport): string | null {
  const { signal, exit_code } = target;
  if (signal === null && (exit_code ?? 0) === 0) return null;
  const why = stopped_by === "duration" ? ", as --duration was over" : "";
  return `the command ended ${signal === null ? `with exit code ${exit_code}` : `by ${signal}`}${why}`;
}

/** The table of the classes, and how many found no room in it. */
interface ClassTable {
  readonly lines: readonly Line[];
  readonly left: number;
}

function classTable(report: RunReport, { width, unicode }: Terminal, most: number, signs: number): ClassTable {
  const { shown, left } = answeredClasses(dataClasses(report), most);
  const rows = answerRows(shown, report);
  const unlearnt = unlearntText(rows);
  const rest: Line[] = unlearnt === null ? [] : [[{ text: unlearnt, ink: "warn" }]];
  if (rows.length === 0) return { lines: rest, left };
  const corner = unicode ? INTERVALS : ascii(INTERVALS);
  const drawn = (isBarred: boolean): Line[] =>
    grid(shown.map(headOf), gridRows(rows, unicode, isBarred), width, unicode ? "─" : "-", corner);
  const [barred, bare] = [drawn(true), drawn(false)];
  // A figure is worth more than a bar: no class is left out for one.
  const lines = barred.length > bare.length ? bare : barred;
  // They are about the rows of what was learnt.
  const about =
    unlearnt === null
      ? signsOf(rows)
          .slice(0, signs)
          .flatMap((text) => oneLine("", text, width, "dim"))
      : [];
  return { lines: [...lines, ...rest, ...about], left };
}

/** The verdict with its first reason; of a run that lost nothing that too, which needs no line of its own. */
function validityText(report: RunReport): string {
  const { validity, reasons } = report;
  const [reason, ...others] = reasons;
  if (reason === undefined && isWhole(report)) return `${validity}, lost ${lossInShort(report)}`;
  if (reason === undefined) return validity;
  return `${validity}: ${reason}${others.length === 0 ? "" : ` (and ${others.length} more)`}`;
}

/** As many warnings as find room, and how many more there are; at least a line says that there are some. */
function warningLines({ warnings }: RunReport, width: number, room: number): Line[] {
  const texts = warnings.map((warning) => entry("warning", warning, width, "warn"));
  let shown = 0;
  let used = 0;
  for (const text of texts) {
    const line = shown + 1 < texts.length ? 1 : 0;
    if (used + text.length + line > room) break;
    used += text.length;
    shown += 1;
  }
  const left = texts.length - shown;
  const more = left === 0 ? [] : oneLine("warning", `${left} ${shown === 0 ? "" : "more "}in the table`, width, "warn");
  return [...texts.slice(0, shown).flat(), ...more];
}

/** @param most lines of a text that is broken */
function answerLines(
  report: RunReport,
  { width }: Terminal,
  { lines: classes, left }: ClassTable,
  most: number,
): Line[] {
  const validity = fewLines("validity", validityText(report), width, most, VALIDITY_INK[report.validity]);
  // Who reads figures that may be spoilt must know it first.
  const isSpoilt = report.validity !== "clean";
  const page = report.warnings.some((text) => text.startsWith(NO_PAGE)) ? "no report.html" : "report.html there";
  const rest = left === 0 ? "every figure" : formatCounted(left, "more class");
  const sharper = moreTimeText(report);
  const invariant = invarianceText(report);
  const tokens = tokensText(report);
  const engine = engineText(report);
  const requests = requestsInShort(report);
  const counts = countsInShort(report);
  const experts = expertsText(report);
  const activations = activationsText(report);
  const traced = [targetText(report), peakText(report)].filter((text) => text !== null).join(", ");
  // Half a figure would be read as another: the peak is whole or in the table alone.
  const process = entry("process", traced, width);
  const failure = failureText(report);
  const head: Line[] = [
    ...(failure === null ? [] : [[{ text: failure, ink: "bad" } as const]]),
    [
      { text: titleText(report), ink: "bold" },
      { text: `  ${[parametersText(report), report.run_id].filter((text) => text !== null).join("  ")}`, ink: "dim" },
    ],
    ...(engine === null ? [] : fewLines("engine", engine, width, most)),
    ...(process.length <= most ? process : oneLine("process", targetText(report), width)),
    ...(tokens === null ? [] : fewLines("tokens", tokens, width, most)),
    ...(requests === null ? [] : oneLine("requests", requests, width)),
    ...(counts === null ? [] : fewLines("server", counts, width, most)),
    ...(experts === null ? [] : fewLines("experts", experts, width, most)),
    ...(activations === null ? [] : fewLines("computed", activations, width, most)),
    ...(isSpoilt ? validity : []),
    [],
    ...classes,
    [],
  ];
  const judged: Line[] = [
    ...fewLines("cost", costInShort(report), width, most),
    ...(isSpoilt || !isWhole(report) ? oneLine("lost", lossInShort(report), width) : []),
    ...(invariant === null ? [] : entry("watching", invariant, width).slice(0, most)),
    ...(isSpoilt ? [] : validity),
  ];
  const place: Line[] = [
    ...(sharper === null ? [] : fewLines("sharper", sharper, width, most)),
    ...entry("files", report.run_dir, width),
    ...fewLines("more", `${page}; ${rest}: mrm-trace show --table FOLDER`, width, most, "dim"),
  ];
  const room = MOST_LINES - head.length - judged.length - place.length;
  return [...head, ...judged, ...warningLines(report, width, room), ...place];
}

/** Classes side by side, lines of a broken text, and lines on the table: the first that keep within the lines are taken. */
const TRIES = Array.from({ length: MOST_CLASSES }, (_, i) => MOST_CLASSES - i).flatMap((classes) =>
  [2, 1].flatMap((most) => [1, 0].map((signs) => ({ classes, most, signs }))),
);

/** The answer as text; every line fits into the terminal and ends with a newline. */
export function renderAnswer(report: RunReport, terminal: Terminal): string {
  const lay = ({ classes, most, signs }: (typeof TRIES)[number]): Line[] =>
    answerLines(report, terminal, classTable(report, terminal, classes, signs), most);
  let lines: Line[] = [];
  for (const tried of TRIES) {
    lines = lay(tried);
    if (lines.length > MOST_LINES) continue;
    // What is left over is for more on the signs: no warning makes room for it.
    if (tried.signs > 0 && lines.length < MOST_LINES) lines = lay({ ...tried, signs: MOST_SIGNS });
    break;
  }
  return render(lines, terminal);
}
