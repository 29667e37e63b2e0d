/** The headline figures of a run as a table, each with its interval, samples and source, and why others are missing. */
import { type DataClass, dataClasses, shownMetric } from "../report/classes.ts";
import { figureSpans, isFigure } from "../report/figure.ts";
import type { ReportMetric, RunReport } from "../schema/run-json.ts";
import { formatCount } from "../units.ts";
import { code, codeCell, table } from "./markdown.ts";

/** What is told of each class, in this order. */
const HEADLINES = [
  "resident_bytes",
  "working_set_bytes",
  "read_bytes_per_s",
  "write_bytes_per_s",
  "reads_per_write",
  "write_once_ratio",
  "retention_p50_ns",
  "retention_p99_ns",
  "suitability",
] as const;

const OF_PROCESS = ["rss_peak_bytes", "cpu_per_token_ns"] as const;

const spanText = ({ phase, step }: ReportMetric): string => (step === "all" ? (phase === "all" ? "run" : phase) : step);

function figureText(row: ReportMetric): string {
  return figureSpans(row)
    .map(({ text }) => text)
    .join("");
}

interface Shown {
  readonly name: string;
  readonly row: ReportMetric;
}

function ofClass(dataClass: DataClass): Shown[] {
  return HEADLINES.flatMap((metric) => {
    const row = shownMetric(dataClass, metric, null);
    return row === undefined ? [] : [{ name: dataClass.name, row }];
  });
}

/** Every headline figure, and below the table the reason of each that is no whole figure. */
export function figureLines(report: RunReport): string[] {
  const classes = dataClasses(report);
  const labelled = classes.filter((one) => one.labelled);
  const answered = labelled.length > 0 ? labelled : classes.filter(({ metrics }) => metrics.some(isFigure));
  const whole = OF_PROCESS.flatMap((metric) => {
    const rows = report.metrics.filter((row) => row.scope === "process" && row.metric === metric && isFigure(row));
    const run = rows.find(({ phase, step }) => phase === "all" && step === "all");
    const row = run ?? rows.find(({ step }) => step === "decode") ?? rows[0];
    return row === undefined ? [] : [{ name: "process", row }];
  });
  const shown = [...whole, ...answered.flatMap(ofClass)];
  if (shown.length === 0) return ["No figure of this run can be told."];
  const reasons: string[] = [];
  const note = ({ why }: ReportMetric): string => {
    if (why === null || why === "") return "";
    if (!reasons.includes(why)) reasons.push(why);
    return ` (${reasons.indexOf(why) + 1})`;
  };
  const rows = shown.map(({ name, row }) => [
    codeCell(name),
    codeCell(row.metric),
    `${codeCell(figureText(row))}${note(row)}`,
    formatCount(Number(row.n)),
    codeCell(row.source),
    codeCell(spanText(row)),
  ]);
  return [
    ...table(["class", "figure", "value [95 % interval]", "n", "source", "of"], rows),
    ...(reasons.length === 0 ? [] : ["", ...reasons.map((why, i) => `${i + 1}. ${code(why)}`)]),
  ];
}
