/** The class table: what each class of data needs of its memory. */
import type { RunReport } from "../schema/run-json.ts";
import type { BytesAre } from "../schema/words.ts";
import { formatBytes, formatCount } from "../units.ts";
import { type DataClass, dataClasses, grainsOf, headOf, shownMetric } from "./classes.ts";
import { figureCell, figureSpans, isFigure } from "./figure.ts";
import { createFootnotes } from "./footnotes.ts";
import { type GridRow, grid } from "./grid.ts";
import { SECTIONS } from "./table-order.ts";
import { type Line, type Terminal, wrap } from "./terminal.ts";
import { unknownRows } from "./unknown-rows.ts";

const INDENT = "  ";

function metricRows(
  classes: readonly DataClass[],
  metric: string,
  label: string,
  notes: ReturnType<typeof createFootnotes>,
): GridRow[] {
  if (!classes.some((dataClass) => dataClass.metrics.some((row) => row.metric === metric))) return [];
  return grainsOf(classes, metric).map((grain) => ({
    label: `${INDENT}${label}${grain === null ? "" : `, ${formatBytes(grain)}`}`,
    cells: classes.map((dataClass) => figureCell(shownMetric(dataClass, metric, grain), notes)),
  }));
}

/** The words for the most bytes at one moment, by what they are. */
const BYTES_LABELS = [
  ["mapped", "mapped"],
  ["touched", "pages touched"],
  ["allocated", "allocated"],
] as const satisfies readonly (readonly [BytesAre, string])[];
const RESIDENT = "resident_bytes";

/** The figure of the whole run: a part of it is no size of the class. */
function residentCell({ metrics }: DataClass): Line {
  const row = metrics.find(({ metric, phase }) => metric === RESIDENT && phase === "all");
  return row === undefined || !isFigure(row) ? [{ text: "-", ink: "dim" }] : figureSpans(row);
}

function contentRows(classes: readonly DataClass[]): GridRow[] {
  const cells = (text: (dataClass: DataClass) => string): Line[] =>
    classes.map((dataClass) => [{ text: text(dataClass) }]);
  const isResident = classes.some(({ metrics }) => metrics.some((row) => row.metric === RESIDENT && isFigure(row)));
  const sizes = BYTES_LABELS.filter(([kind]) => classes.some(({ bytes }) => bytes[kind] !== undefined));
  return [
    { label: "most at one moment, whole run", heading: true, cells: [] },
    ...(isResident ? [{ label: `${INDENT}resident`, cells: classes.map(residentCell) }] : []),
    ...sizes.map(([kind, label]) => ({
      label: `${INDENT}${label}`,
      cells: cells(({ bytes }) => (bytes[kind] === undefined ? "-" : formatBytes(bytes[kind]))),
    })),
    ...(classes.some(({ guessed_bytes }) => guessed_bytes > 0)
      ? [
          {
            label: `${INDENT}of it by a guess`,
            cells: cells(({ guessed_bytes }) => (guessed_bytes > 0 ? formatBytes(guessed_bytes) : "-")),
          },
        ]
      : []),
    { label: "seen in the run", heading: true, cells: [] },
    { label: `${INDENT}regions`, cells: cells((dataClass) => formatCount(dataClass.regions)) },
    { label: `${INDENT}access rows`, cells: cells((dataClass) => formatCount(dataClass.access_rows)) },
  ];
}

/** A mark and its text, broken below itself. */
function note(mark: string, text: string, width: number): Line[] {
  const left = `${mark} `.padStart(5);
  return wrap(text, Math.max(10, width - left.length)).map((part, i) => [
    { text: i === 0 ? left : " ".repeat(left.length), ink: "dim" },
    { text: part, ink: "dim" },
  ]);
}

/** Kinds of mapping without any figure would be columns of dashes; a class of data keeps its column, as that is an answer. */
function isSilent(dataClass: DataClass): boolean {
  return !dataClass.labelled && !dataClass.metrics.some((row) => isFigure(row) && row.source !== "fault");
}

/** Confidence level that the intervals share, such as `95 %`. */
function levelText(report: RunReport): string {
  const levels = new Set(report.metrics.map((row) => row.ci_level).filter((level) => level !== null));
  return levels.size === 0
    ? "confidence"
    : [...levels].map((level) => `${Number((level * 100).toFixed(1))} %`).join(" or ");
}

/** The table with its methods and reasons below it; the lines fit into the terminal. */
export function classTable(report: RunReport, { width, unicode }: Terminal): Line[] {
  const all = dataClasses(report);
  const speaking = all.filter((dataClass) => !isSilent(dataClass));
  const classes = speaking.length > 0 ? speaking : all;
  const silent = all.filter((dataClass) => !classes.includes(dataClass));
  const notes = createFootnotes();
  const listed = new Set([RESIDENT, ...SECTIONS.flatMap(([, rows]) => rows.map(([metric]) => metric))]);
  const ofClasses = report.metrics.filter(({ scope }) => scope === "class");
  const others = [...new Set(ofClasses.map((row) => row.metric))].filter((metric) => !listed.has(metric));
  const sections = [...SECTIONS, ["other", others.map((metric) => [metric, metric] as const)] as const];
  const rows = contentRows(classes);
  const unknown = unknownRows(classes, sections);
  for (const [heading, members] of sections) {
    const shown = members.filter(([metric]) => !unknown.metrics.has(metric));
    const found = shown.flatMap(([metric, label]) => metricRows(classes, metric, label, notes));
    if (found.length > 0) rows.push({ label: heading, heading: true, cells: [] }, ...found);
  }
  if (classes.length === 0) return [[{ text: "nothing was seen: no class has a region or a figure", ink: "warn" }]];
  const out: Line[] = [...grid(classes.map(headOf), rows, width, unicode ? "─" : "-")];
  const also = silent
    .filter((dataClass) => dataClass.regions > 0)
    .map(
      ({ name, bytes, regions }) =>
        `${name} ${BYTES_LABELS.flatMap(([kind, label]) => (bytes[kind] === undefined ? [] : [`${label} ${formatBytes(bytes[kind])}`])).join(", ")} in ${formatCount(regions)} regions`,
    )
    .join(", ");
  if (also !== "") out.push([], ...note("", `without figures: ${also}`, width));
  for (const text of unknown.texts) out.push([], ...note("", text, width));
  if (ofClasses.length > 0) {
    const how = `a cell reads: value [${levelText(report)} interval, in the value's unit] samples/censored method (reason)`;
    out.push([], ...wrap(how, width).map((text) => [{ text, ink: "dim" } as const]));
  }
  for (const [letter, text] of notes.methods()) out.push(...note(letter, text, width));
  for (const [number, text] of notes.reasons()) out.push(...note(`(${number})`, text, width));
  return out;
}
