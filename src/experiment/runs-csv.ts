/** runs.csv: a row for each run of every experiment of an output folder. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { MrmTraceError, reasonText } from "../errors.ts";
import { csvField } from "../report/csv.ts";
import { writeFileAtomic } from "../run-directory/atomic-file.ts";
import { readRegularText } from "../run-directory/regular-file.ts";
import { modelSlug } from "../run-directory/run-directory.ts";
import { SUMMARY_FIGURES } from "./cell-summary.ts";
import { isUsed, type RunResult } from "./outcome.ts";

export const RUNS_CSV = "runs.csv";

const number = (value: number | null | undefined): string =>
  value === null || value === undefined || !Number.isFinite(value) ? "" : String(value);

/** One line has one row: a message of several lines is told in one. */
const words = (text: string | null): string => csvField((text ?? "").replace(/\s+/g, " "));

const COLUMNS: readonly (readonly [name: string, text: (result: RunResult, experiment: string) => string])[] = [
  ["experiment", (_, experiment) => experiment],
  ["model_id", ({ entry }) => entry.planned.model_id],
  ["run_id", ({ entry }) => entry.planned.run_id],
  ["context_length", ({ entry }) => number(entry.planned.context_length)],
  ["batch_size", ({ entry }) => number(entry.planned.batch_size)],
  ["output_tokens", ({ entry }) => number(entry.planned.output_tokens)],
  ["prompt_tokens", ({ entry }) => number(entry.planned.prompt_tokens)],
  ["prompts", ({ entry }) => number(entry.planned.prompts)],
  ["kind", ({ entry }) => (entry.planned.is_warmup ? "warmup" : "rep")],
  ["index", ({ entry }) => number(entry.planned.rep_index)],
  ["status", ({ status }) => status],
  ["in_aggregates", (result) => (isUsed(result) ? "1" : "0")],
  ["validity", ({ record }) => record?.validity ?? ""],
  ["exit_code", ({ exit_code }) => number(exit_code)],
  ["wall_s", ({ record }) => number(record?.wall_s)],
  ["total_s", ({ record }) => number(record?.total_s)],
  ["bytes", ({ record }) => number(record?.bytes)],
  ["decode_tokens", ({ record }) => number(record?.decode_tokens)],
  ...SUMMARY_FIGURES.map(({ name, of: figureOf }) => [name, (result: RunResult) => number(figureOf(result))] as const),
  ["run_dir", ({ entry }) => csvField(entry.run_dir)],
  ["why", ({ why }) => words(why)],
];

export const RUNS_CSV_HEADER = COLUMNS.map(([name]) => name).join(",");

function textOf(path: string): string {
  try {
    return readRegularText(path);
  } catch (cause) {
    const hint = "move it away; the runs themselves are kept, and --resume writes their rows";
    throw new MrmTraceError("environment", `${path} cannot be read: ${reasonText(cause)}`, hint, { cause });
  }
}

/** The rows of other experiments that a file has already; none where it has another header. */
function otherRows(path: string, experiment: string): string[] {
  if (!existsSync(path)) return [];
  const [header, ...rows] = textOf(path).split("\n");
  if (header !== RUNS_CSV_HEADER) return [];
  return rows.filter((row) => row !== "" && !row.startsWith(`${experiment},`));
}

/**
 * Writes the rows of an experiment to runs.csv of the output folder; those of other experiments stay before them.
 * @returns its path
 * @throws MrmTraceError environment where it cannot be written, or the one that is there not read
 */
export function writeRunsCsv(output: string, name: string, results: readonly RunResult[]): string {
  const path = join(output, RUNS_CSV);
  // A slug needs no quotes, and is the whole first field.
  const experiment = modelSlug(name);
  const rows = results.map((result) => COLUMNS.map(([, text]) => text(result, experiment)).join(","));
  writeFileAtomic(path, `${[RUNS_CSV_HEADER, ...otherRows(path, experiment), ...rows].join("\n")}\n`);
  return path;
}
