/** `analyse` for programs. */

import { analyseSchema } from "../config/schema.ts";
import { analyse as analysePipeline } from "../pipelines/analyse.ts";
import type { RunReport } from "../schema/run-json.ts";
import { type ProgramOptions, programOptions } from "./options.ts";

/** For a trace that was recorded elsewhere: where its run goes, and how many accesses each row stands for. */
export type AnalyseOptions = ProgramOptions<typeof analyseSchema>;

export interface AnalyseResult {
  readonly runDir: string;
  readonly report: RunReport;
}

/**
 * Derives everything after capture/ of a run directory again, replacing what is there; needs no root. Of a trace.parquet
 * of the Python package's columns, or a folder with one, it makes a new run directory.
 * @throws MrmTraceError usage (options, no run directory), data_quality (nothing can be read), environment (disk, schema
 *   version)
 */
export async function analyse(path: string, options: AnalyseOptions = {}): Promise<AnalyseResult> {
  const { period, ...chosen } = programOptions(analyseSchema, options);
  const { report, directory } = await analysePipeline(path, { ...chosen, period: period ?? null });
  return { runDir: directory.path, report };
}
