/** The questions that the answer puts to each class of data, and what is known of each: for the terminal and for the page. */
import type { ReportMetric, RunReport } from "../schema/run-json.ts";
import { formatBytes, formatNs, isShown } from "../units.ts";
import { ALLOCATION, type DataClass, mostBytes, shownMetric } from "./classes.ts";
import { isFigure } from "./figure.ts";
import { shortFigure } from "./short-figure.ts";
import type { Line } from "./terminal.ts";

/** One class in one row. */
export interface AnswerCell {
  readonly line: Line;
  /** The figure that it is the short form of; null where there is none. */
  readonly metric: ReportMetric | null;
  /** Of a size, for a bar; null where it is not known, and of all else. */
  readonly bytes: number | null;
  /** True where the size is no more than an upper end, so that its bar is no value either. */
  readonly isBound: boolean;
}

const NO_SIZE = { bytes: null, isBound: false } as const;

export interface AnswerRow {
  readonly label: string;
  readonly about: "size" | "figure" | "suitability" | "allocation";
  /** In the order of the classes. */
  readonly cells: readonly AnswerCell[];
}

/** What a class is asked, in the order of the table: the first of the metrics that says something. */
const QUESTIONS = [
  ["working set", ["working_set_bytes"]],
  ["read", ["read_bytes_per_s"]],
  ["written", ["write_bytes_per_s"]],
  ["reads per write", ["reads_per_write", "needs_per_write"]],
  ["never rewritten", ["write_once_ratio"]],
  ["kept for, p50", ["retention_p50_ns"]],
  ["kept for, p99", ["retention_p99_ns"]],
] as const satisfies readonly (readonly [string, readonly string[]])[];

/** What is asked of allocations where they are all that was seen. */
const ALLOCATION_QUESTIONS = [
  ["most alive at once", "allocated_bytes"],
  ["allocated in all", "allocated_total_bytes"],
  ["allocations", "allocations_total"],
  ["freed after, p50", "lifetime_p50_ns"],
  ["freed after, p99", "lifetime_p99_ns"],
] as const;

/** What the label of a class means to who chooses a memory. */
const SUITED: Readonly<Record<string, string>> = {
  high_mrm: "suited",
  medium_mrm: "in part",
  low_mrm: "not suited",
  insufficient: "undecided",
};
/** Data of which no end was seen: only how long we looked is known. */
const KEPT = "kept_throughout";

/**
 * What is said where no class has a figure of its use: in the place of the table, or below it where it has sizes or
 * allocations alone; else null.
 */
export function unlearntText(rows: readonly AnswerRow[]): string | null {
  if (rows.some(({ about }) => about === "allocation"))
    return "memray sees allocations and frees, never a read or a write: nothing else is known of the data";
  if (rows.some(({ about }) => about === "figure")) return null;
  return `too little was seen for any ${rows.length === 0 ? "" : "other "}figure of a class of data`;
}

/** The most memory of the target at one moment. */
export const rssPeak = ({ metrics }: RunReport): ReportMetric | undefined =>
  metrics.find((row) => row.scope === "process" && row.metric === "rss_peak_bytes" && row.phase === "all");

/** The same as a number that no class can exceed; infinite where nobody read it. */
export const peakBytes = (report: RunReport): number =>
  rssPeak(report)?.hi ?? rssPeak(report)?.value ?? Number.POSITIVE_INFINITY;

/** The row of what was in memory of a class; undefined where that was not read. */
const residentRow = ({ metrics }: DataClass): ReportMetric | undefined =>
  metrics.find(({ metric, phase }) => metric === "resident_bytes" && phase === "all");

/**
 * The most bytes of a class in memory at one moment; where they were not read, no more than were touched or mapped.
 * @param peak_bytes most memory of the target, above which no class can have been
 */
export function sizeOf(
  dataClass: DataClass,
  peak_bytes: number,
): { readonly bytes: number; readonly sign: string } | null {
  const row = residentRow(dataClass);
  if (row !== undefined && isFigure(row) && isShown(row.value)) return { bytes: row.value, sign: "" };
  const most = mostBytes(dataClass);
  return most === null ? null : { bytes: Math.min(most, peak_bytes), sign: "≤ " };
}

/** The classes of data; without an engine the kinds of mapping of which most is known. */
export function answeredClasses(
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

/** How far the upper end of a size must lie above it for a word on it: three digits hold less; and for the end itself. */
const [LEAST_REACH_PCT, LEAST_RANGE_PCT] = [1, 10];

/** What a look found: a value, or the ends where there may have been much more between two looks; null where nobody looked. */
function lookedCell(metric: ReportMetric | null): AnswerCell | null {
  if (metric === null || !isFigure(metric) || !isShown(metric.value)) return null;
  const { value, hi } = metric;
  const reach_pct = !isShown(hi) || hi <= value ? 0 : (100 * (hi - value)) / value;
  if (isShown(hi) && reach_pct > LEAST_RANGE_PCT)
    return { line: shortFigure({ ...metric, lo: value, status: "bound" }), metric, bytes: hi, isBound: true };
  const shown = reach_pct > LEAST_REACH_PCT ? metric : { ...metric, lo: null, hi: null };
  return { line: shortFigure(shown), metric, bytes: value, isBound: false };
}

function sizeCell(dataClass: DataClass, peak_bytes: number): AnswerCell {
  const metric = residentRow(dataClass) ?? null;
  const looked = lookedCell(metric);
  if (looked !== null) return looked;
  const size = sizeOf(dataClass, peak_bytes);
  if (size === null) return { line: [{ text: "-", ink: "dim" }], metric, bytes: null, isBound: false };
  const { bytes, sign } = size;
  return { line: [{ text: `${sign}${formatBytes(bytes)}`, ink: "bold" }], metric, bytes, isBound: sign !== "" };
}

/** True where it was counted that nothing of the class was written. */
function isUnwritten(dataClass: DataClass): boolean {
  const written = shownMetric(dataClass, "write_bytes_per_s", null);
  return written?.status === "ok" && written.hi === 0;
}

/** The figure that answers, else one that says why there is none: of what no write was of, what needs one has a word of its own. */
function figureAnswer(dataClass: DataClass, names: readonly string[]): AnswerCell {
  const rows = names.map((name) => shownMetric(dataClass, name, null)).filter((row) => row !== undefined);
  const metric = rows.find(isFigure) ?? rows[0];
  if (metric?.status === "not_identifiable" && isUnwritten(dataClass))
    return { line: [{ text: "no writes", ink: "bold" }], metric, ...NO_SIZE };
  return { line: shortFigure(metric), metric: metric ?? null, ...NO_SIZE };
}

function suitedCell(dataClass: DataClass): AnswerCell {
  const row = shownMetric(dataClass, "suitability", null);
  const label = row?.label ?? null;
  if (row === undefined || label === null) return { line: shortFigure(row), metric: row ?? null, ...NO_SIZE };
  const text = label === KEPT ? `kept all ${formatNs(Number(row.window_ns))}` : (SUITED[label] ?? label);
  return { line: [{ text, ink: "bold" }], metric: row, ...NO_SIZE };
}

/** What memray tells of allocations; none where something else was seen too. */
function allocationRows(classes: readonly DataClass[]): AnswerRow[] {
  if (!classes.every(({ name }) => name === ALLOCATION)) return [];
  return ALLOCATION_QUESTIONS.map(
    ([label, metric]): AnswerRow => ({
      label,
      about: "allocation",
      cells: classes.map((dataClass) => figureAnswer(dataClass, [metric])),
    }),
  ).filter(({ cells }) => cells.some(({ metric }) => metric !== null && isFigure(metric)));
}

/** The rows of the answer, with a cell for each class: sizes alone where no more was learnt, none where not even those. */
export function answerRows(classes: readonly DataClass[], report: RunReport): AnswerRow[] {
  const peak_bytes = peakBytes(report);
  const rows = QUESTIONS.filter(([, names]) =>
    classes.some(({ metrics }) => metrics.some((row) => names.some((name) => name === row.metric) && isFigure(row))),
  ).map(
    ([label, names]): AnswerRow => ({
      label,
      about: "figure",
      cells: classes.map((dataClass) => figureAnswer(dataClass, names)),
    }),
  );
  const sizes: AnswerRow = {
    label: "in memory",
    about: "size",
    cells: classes.map((dataClass) => sizeCell(dataClass, peak_bytes)),
  };
  // Nothing was learnt of any class: words for it in every cell would hide that.
  const allocated = rows.length === 0 ? allocationRows(classes) : [];
  if (allocated.length > 0) return allocated;
  if (rows.length === 0) return classes.some((one) => lookedCell(residentRow(one) ?? null) !== null) ? [sizes] : [];
  return [sizes, ...rows, { label: "suits retention", about: "suitability", cells: classes.map(suitedCell) }];
}
