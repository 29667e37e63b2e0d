/** The report of a run that was finished before, from its files: nothing is derived again. */
import { existsSync } from "node:fs";
import { openRun } from "../api/open-run.ts";
import { runPaths } from "../run-directory/run-directory.ts";
import { modelFactsSchema } from "../schema/model-facts.ts";
import { NO_PAGE, type RunReport } from "../schema/run-json.ts";

/**
 * @param runDir as the user typed it
 * @throws MrmTraceError usage (no folder of a run), data_quality (it was not analysed, is damaged, or was written by another
 *   major version)
 */
export function savedReport(runDir: string): RunReport {
  using run = openRun(runDir);
  const { schema_version, run_id, model, engine, validity, labels, more_time, invariance, ...rest } = run.metadata;
  const { id, ...facts } = model;
  const { collectors, target, observer, loss, warnings, stopped_by, requests } = rest;
  // Whoever derived the run found no room for it, and `mrm-trace report` made it since.
  const hasPage = existsSync(runPaths(run.runDir).report_page);
  return {
    schema_version,
    run_dir: runDir,
    run_id,
    model_id: id,
    model: modelFactsSchema.safeParse(facts).data ?? null,
    engine,
    stopped_by,
    validity: validity.class,
    reasons: validity.reasons,
    not_measured: validity.not_measured,
    warnings: warnings.filter((text) => !(hasPage && text.startsWith(NO_PAGE))),
    collectors,
    target,
    ledger: run.ledger,
    loss,
    observer,
    labels: labels ?? [],
    requests,
    more_time: more_time ?? null,
    invariance: invariance ?? null,
    metrics: run.metrics(),
  };
}
