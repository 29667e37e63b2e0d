/** What plan and run of an experiment print for people. */
import { type GridRow, grid } from "../report/grid.ts";
import { entry } from "../report/run-lines.ts";
import { type Line, render, type Terminal, wrap } from "../report/terminal.ts";
import { formatBytes, formatCount, formatCounted, formatNs } from "../units.ts";
import { type Aggregate, type CellSummary, summarise } from "./cell-summary.ts";
import type { RunResult } from "./outcome.ts";
import type { Plan, PlanEntry } from "./plan.ts";
import type { Prediction } from "./predict.ts";

const UNKNOWN = "unknown";
const cellOf = (text: string): Line => [{ text }];
const duration = (seconds: number): string => formatNs(seconds * 1e9);

function timeText(prediction: Prediction | null): string {
  if (prediction === null) return UNKNOWN;
  const { time_s, time_lo_s, time_hi_s } = prediction;
  const range = time_lo_s === time_hi_s ? "" : ` [${duration(time_lo_s)}, ${duration(time_hi_s)}]`;
  return `${duration(time_s)}${range}`;
}

function costText(prediction: Prediction | null): string {
  if (prediction?.slowdown_pct === undefined || prediction.slowdown_pct === null) return UNKNOWN;
  return `${formatCount(prediction.slowdown_pct)} %`;
}

function planRow({ planned, state, prediction }: PlanEntry, index: number): GridRow {
  const { model_id, model, context_length, batch_size, output_tokens, is_warmup, rep_index } = planned;
  const kind = `${is_warmup ? "warmup" : "rep"}${rep_index}`;
  const size = prediction === null ? UNKNOWN : formatBytes(prediction.disk_bytes);
  const texts = [
    model_id,
    model.engine,
    ...[context_length, batch_size, output_tokens].map(String),
    kind,
    state === "absent" ? "" : state,
    timeText(prediction),
    size,
    costText(prediction),
  ];
  return { label: String(index + 1), cells: texts.map(cellOf) };
}

const PLAN_COLUMNS = ["model", "engine", "ctx", "batch", "out", "run", "there", "time", "disk", "slows target by"];

/** What would run, a line each, and what it would take. */
export function planText({ experiment, entries, totals }: Plan, terminal: Terminal): string {
  const { runs, warmups, complete, time_s, disk_bytes, free_bytes } = totals;
  const left = runs - complete;
  const lines: Line[] = [
    [
      { text: experiment.about.name, ink: "bold" },
      {
        text: `  ${formatCounted(runs, "run")}, ${formatCounted(warmups, "warm-up")} among them, ${complete} complete`,
      },
    ],
    [],
    ...grid(PLAN_COLUMNS, entries.map(planRow), terminal.width, "-"),
    [],
    cellOf(
      `${left} to run: time ${time_s === null ? UNKNOWN : duration(time_s)}, disk ${disk_bytes === null ? UNKNOWN : formatBytes(disk_bytes)}; ${formatBytes(free_bytes)} free in ${experiment.run.output}`,
    ),
  ];
  if (time_s === null)
    lines.push(cellOf("unknown: no complete run of that model on this machine in the output folder tells"));
  return render(lines, terminal);
}

const COLUMNS: readonly (readonly [title: string, figure: string, format: (value: number) => string])[] = [
  ["tokens/s", "decode_tokens_per_s", formatCount],
  ["slowed by %", "slowdown_pct", formatCount],
  ["weight reads", "weight_reads_per_byte_per_token", formatCount],
  ["kv reads", "kv_cache_reads_per_byte_per_token", formatCount],
  ["kv writes", "kv_cache_writes_per_byte_per_token", formatCount],
  ["kv retention p50", "kv_cache_retention_p50_ns", formatNs],
  ["kv working set", "kv_cache_working_set_bytes", formatBytes],
];

function aggregateText({ n, mean, lo, hi }: Aggregate, format: (value: number) => string): string {
  if (mean === null) return n === 0 ? "-" : `${formatCounted(n, "run")} only`;
  return lo === null || hi === null ? format(mean) : `${format(mean)} +- ${format((hi - lo) / 2)}`;
}

function summaryRow({ cell, runs, used, aggregates }: CellSummary): GridRow {
  const byName = new Map(aggregates.map((one) => [one.name, one]));
  const figures = COLUMNS.map(([, figure, format]) => {
    const found = byName.get(figure);
    return cellOf(found === undefined ? "-" : aggregateText(found, format));
  });
  const axes = `ctx ${cell.context_length} batch ${cell.batch_size} out ${cell.output_tokens}`;
  return { label: `${cell.model_id} ${axes}`, cells: [cellOf(`${used} of ${runs}`), ...figures] };
}

const isOver = ({ status }: RunResult): boolean => status === "complete" || status === "skipped";

/** Why runs are missing in the summary, in whole sentences: those that did not end well each, the contaminated together. */
function missingText(results: readonly RunResult[], width: number): Line[] {
  const contaminated = results.filter((result) => isOver(result) && result.why !== null);
  const counts = new Map<string, number>();
  for (const result of results) {
    if (isOver(result)) continue;
    const status = result.status === "not_run" ? "not started" : result.status;
    const text = `${status}${result.why === null ? "" : `: ${result.why}`}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const [first] = contaminated;
  const texts = [...counts].map(([text, n]) => `${formatCounted(n, "run")} ${text}`);
  if (first !== undefined) texts.push(`${formatCounted(contaminated.length, "run")} kept out, the first ${first.why}`);
  return texts.flatMap((text) => wrap(text, width - 2).map((part, i) => cellOf(i === 0 ? part : `  ${part}`)));
}

/** How what is missing is made; nothing where nothing is. */
function resumeText(results: readonly RunResult[], width: number): Line[] {
  const missing = results.filter((result) => !isOver(result)).length;
  if (missing === 0) return [];
  return entry("missing", `${formatCounted(missing, "run")}: made by the same command with --resume`, width);
}

const FIGURES =
  "mean +- half of its 95 % interval over the runs used, where all of them tell; reads and writes per byte and token";

/** The summary of an experiment: a line per combination, why runs are missing in it, and how they are made. */
export function summaryText(name: string, results: readonly RunResult[], runsCsv: string, terminal: Terminal): string {
  const titles = ["used", ...COLUMNS.map(([title]) => title)];
  const lines: Line[] = [
    [{ text: name, ink: "bold" }],
    ...wrap(FIGURES, terminal.width - 2).map((part) => cellOf(`  ${part}`)),
    [],
    ...grid(titles, summarise(results).map(summaryRow), terminal.width, "-"),
    [],
    ...missingText(results, terminal.width),
    ...resumeText(results, terminal.width),
    ...entry("runs", runsCsv, terminal.width),
  ];
  return render(lines, terminal);
}
