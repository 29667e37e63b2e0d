/** The objects that plan and run of an experiment print with `--json`. */
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { SUMMARY_FIGURES, summarise } from "./cell-summary.ts";
import { isUsed, type RunResult } from "./outcome.ts";
import type { Plan, PlanEntry } from "./plan.ts";

function runOf({ planned, run_dir }: PlanEntry): Record<string, unknown> {
  const { model, ...axes } = planned;
  return { ...axes, engine: model.engine, run_dir };
}

export function planJson({ experiment, entries, totals }: Plan): Record<string, unknown> {
  return {
    schema_version: JSON_SCHEMA_VERSION,
    config: experiment.file,
    experiment: experiment.about.name,
    totals,
    runs: entries.map((entry) => ({ ...runOf(entry), state: entry.state, predicted: entry.prediction })),
  };
}

export function sweepJson(
  { experiment }: Plan,
  results: readonly RunResult[],
  runsCsv: string,
  exitCode: number,
): Record<string, unknown> {
  const count = (status: RunResult["status"]): number => results.filter((result) => result.status === status).length;
  return {
    schema_version: JSON_SCHEMA_VERSION,
    config: experiment.file,
    experiment: experiment.about.name,
    exit_code: exitCode,
    complete: count("complete"),
    skipped: count("skipped"),
    failed: count("failed"),
    interrupted: count("interrupted"),
    not_run: count("not_run"),
    runs_csv: runsCsv,
    summary: summarise(results).map(({ cell: { model, ...axes }, ...rest }) => ({ ...axes, ...rest })),
    runs: results.map((result) => ({
      ...runOf(result.entry),
      status: result.status,
      in_aggregates: isUsed(result),
      validity: result.record?.validity ?? null,
      exit_code: result.exit_code,
      why: result.why,
      figures: Object.fromEntries(SUMMARY_FIGURES.map(({ name, of: figureOf }) => [name, figureOf(result)])),
    })),
  };
}
