/** The answer of a run in at most 24 lines: what ran, what each class of data needs, and how far that may be trusted. */
import type { ReportMetric, RunReport } from "../schema/run-json.ts";
import { formatBytes, formatNs, isShown } from "../units.ts";
import { type DataClass, dataClasses, shownMetric } from "./classes.ts";
import { figureSpans, isFigure } from "./figure.ts";
import { type GridRow, grid } from "./grid.ts";
import { invarianceText } from "./invariance-table.ts";
import { moreTimeText } from "./more-time-line.ts";
import { costInShort, engineText, entry, lossInShort, targetText, tokensText, VALIDITY_INK } from "./run-lines.ts";
import { shortFigure } from "./short-figure.ts";
import { type Ink, type Line, render, type Terminal, widthOf } from "./terminal.ts";

/** What a class is asked, in the order of the table: the first of the metrics that says something. */
const QUESTIONS = [
  ["working set", ["working_set_bytes"]],
  ["read", ["read_bytes_per_s"]],
  ["written", ["write_bytes_per_s"]],
  ["reads per write", ["reads_per_write", "needs_per_write"]],
  ["written once", ["write_once_ratio"]],
  ["kept, median", ["retention_p50_ns"]],
  ["kept, 99 %", ["retention_p99_ns"]],
] as const satisfies readonly (readonly [string, readonly string[]])[];

/** What the label of a class means to who chooses a memory. */
const SUITED: Readonly<Record<string, string>> = {
  high_mrm: "suited",
  medium_mrm: "in part",
  low_mrm: "not suited",
  insufficient: "open",
};
/** Data of which no end was seen: only how long we looked is known. */
const KEPT = "kept_throughout";

/** More classes would need a second table; kinds of mapping can be many. */
const MOST_CLASSES = 4;
const MOST_LINES = 24;
const BAR_COLUMNS = 4;

const rssPeak = ({ metrics }: RunReport): ReportMetric | undefined =>
  metrics.find((row) => row.scope === "process" && row.metric === "rss_peak_bytes" && row.phase === "all");

/**
 * The most bytes of a class in memory at one moment; where they were not read, no more than were touched or mapped.
 * @param peak_bytes most memory of the target, above which no class can have been
 */
function sizeOf(
  { metrics, bytes }: DataClass,
  peak_bytes: number,
): { readonly bytes: number; readonly sign: string } | null {
  const row = metrics.find(({ metric, phase }) => metric === "resident_bytes" && phase === "all");
  if (row !== undefined && isFigure(row) && isShown(row.value)) return { bytes: row.value, sign: "" };
  const most = bytes.touched ?? bytes.allocated ?? bytes.mapped;
  return most === undefined ? null : { bytes: Math.min(most, peak_bytes), sign: "≤ " };
}

/** The classes of data; without an engine the kinds of mapping of which most is known. */
function answered(
  classes: readonly DataClass[],
  most: number,
): { readonly shown: readonly DataClass[]; readonly left: number } {
  const speaking = classes.filter(({ labelled, metrics }) => labelled || metrics.some(isFigure));
  const figures = ({ metrics }: DataClass): number =>
    QUESTIONS.filter(([, names]) => metrics.some((row) => names.some((name) => name === row.metric) && isFigure(row)))
      .length;
  // Classes of data come in their own order, weights first; kinds of mapping by what is known of them.
  const worth = [...speaking].sort((a, b) => {
    if (a.labelled || b.labelled) return Number(b.labelled) - Number(a.labelled);
    const larger =
      (sizeOf(b, Number.POSITIVE_INFINITY)?.bytes ?? 0) - (sizeOf(a, Number.POSITIVE_INFINITY)?.bytes ?? 0);
    return figures(b) - figures(a) || larger;
  });
  const chosen = new Set(worth.slice(0, most));
  return { shown: speaking.filter((one) => chosen.has(one)), left: speaking.length - chosen.size };
}

function sizeRow(classes: readonly DataClass[], peak_bytes: number, unicode: boolean): GridRow {
  const sizes = classes.map((dataClass) => sizeOf(dataClass, peak_bytes));
  const most = Math.max(1, ...sizes.map((size) => size?.bytes ?? 0));
  const cells = sizes.map((size): Line => {
    if (size === null) return [{ text: "-", ink: "dim" }];
    const columns = size.bytes === 0 ? 0 : Math.max(1, Math.round((BAR_COLUMNS * size.bytes) / most));
    return [
      { text: `${size.sign}${formatBytes(size.bytes)}`, ink: "bold" },
      { text: ` ${(unicode ? "█" : "#").repeat(columns)}`, ink: "dim" },
    ];
  });
  return { label: "in memory", cells };
}

/** The figure that answers, else one that says why there is none. */
function answerOf(dataClass: DataClass, names: readonly string[]): Line {
  const rows = names.map((name) => shownMetric(dataClass, name, null)).filter((row) => row !== undefined);
  return shortFigure(rows.find(isFigure) ?? rows[0]);
}

function suitedRow(classes: readonly DataClass[]): GridRow {
  const cells = classes.map((dataClass): Line => {
    const row = shownMetric(dataClass, "suitability", null);
    if (row === undefined || row.label === null) return shortFigure(row);
    if (row.label === KEPT) return [{ text: `kept all ${formatNs(Number(row.window_ns))}`, ink: "bold" }];
    return [{ text: SUITED[row.label] ?? row.label, ink: "bold" }];
  });
  return { label: "suits retention", cells };
}

function classRows(classes: readonly DataClass[], peak_bytes: number, unicode: boolean): GridRow[] {
  const rows = QUESTIONS.filter(([, names]) =>
    classes.some(({ metrics }) => metrics.some((row) => names.some((name) => name === row.metric) && isFigure(row))),
  ).map(([label, names]) => ({ label, cells: classes.map((dataClass) => answerOf(dataClass, names)) }));
  // Nothing was learnt of any class: words for it in every cell would hide that.
  return rows.length === 0 ? [] : [sizeRow(classes, peak_bytes, unicode), ...rows, suitedRow(classes)];
}

function peakText(report: RunReport): string | null {
  const row = rssPeak(report);
  if (row === undefined || !isFigure(row)) return null;
  return `${figureSpans({ ...row, lo: null, hi: null, status: "ok" })
    .map(({ text }) => text)
    .join("")} of memory at its peak`;
}

/** A text cut at the width: whole it stands in the table. */
const oneLine = (key: string, text: string, width: number, ink?: Ink): Line[] =>
  entry(key, text, Math.max(width, widthOf(text) + width), ink);

/** A text in so many lines at most; one that has more is cut after its first. */
function fewLines(key: string, text: string, width: number, most: number, ink?: Ink): Line[] {
  const lines = entry(key, text, width, ink);
  return lines.length <= most ? lines : oneLine(key, text, width, ink);
}

function failureLines({ target }: RunReport): Line[] {
  const { signal, exit_code } = target;
  if (signal === null && (exit_code ?? 0) === 0) return [];
  const how = signal === null ? `with exit code ${exit_code}` : `by ${signal}`;
  return [[{ text: `the command ended ${how}`, ink: "bad" }]];
}

function classLines(report: RunReport, { width, unicode }: Terminal, most: number): Line[] {
  const { shown, left } = answered(dataClasses(report), most);
  const rows = classRows(shown, rssPeak(report)?.hi ?? rssPeak(report)?.value ?? Number.POSITIVE_INFINITY, unicode);
  if (rows.length === 0) return [[{ text: "too little was seen for any figure of a class of data", ink: "warn" }]];
  const names = shown.map(({ name }) => name);
  const others = left === 0 ? [] : oneLine("", `${left} more in the table`, width, "dim");
  return [...grid(names, rows, width, unicode ? "─" : "-"), ...others];
}

function validityText({ validity, reasons }: RunReport): string {
  const [reason, ...others] = reasons;
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
function answerLines(report: RunReport, { width }: Terminal, classes: readonly Line[], most: number): Line[] {
  const sharper = moreTimeText(report);
  const invariant = invarianceText(report);
  const tokens = tokensText(report);
  const engine = engineText(report);
  const target = [targetText(report), peakText(report)].filter((text) => text !== null).join(", ");
  const head: Line[] = [
    ...failureLines(report),
    [
      { text: report.model_id, ink: "bold" },
      { text: `  ${report.run_id}`, ink: "dim" },
    ],
    ...(engine === null ? [] : fewLines("engine", engine, width, most)),
    ...oneLine("target", target, width),
    ...(tokens === null ? [] : fewLines("tokens", tokens, width, most)),
    [],
    ...classes,
    [],
  ];
  const judged: Line[] = [
    ...oneLine("cost", costInShort(report), width),
    ...oneLine("lost", lossInShort(report), width),
    ...(invariant === null ? [] : entry("watching", invariant, width).slice(0, most)),
    ...fewLines("validity", validityText(report), width, most, VALIDITY_INK[report.validity]),
  ];
  const place: Line[] = [
    ...(sharper === null ? [] : fewLines("sharper", sharper, width, most)),
    ...entry("files", report.run_dir, width),
    ...oneLine("more", "every figure and its reason: mrm-trace show --table FOLDER", width, "dim"),
  ];
  const room = MOST_LINES - head.length - judged.length - place.length;
  return [...head, ...judged, ...warningLines(report, width, room), ...place];
}

/** Classes side by side, and lines of a broken text: the first that keep within the lines are taken. */
const TRIES = Array.from({ length: MOST_CLASSES }, (_, i) => MOST_CLASSES - i).flatMap((classes) =>
  [2, 1].map((most) => ({ classes, most })),
);

/** The answer as text; every line fits into the terminal and ends with a newline. */
export function renderAnswer(report: RunReport, terminal: Terminal): string {
  let lines: Line[] = [];
  for (const { classes, most } of TRIES) {
    lines = answerLines(report, terminal, classLines(report, terminal, classes), most);
    if (lines.length <= MOST_LINES) break;
  }
  return render(lines, terminal);
}
