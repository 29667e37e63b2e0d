/** The analysis of a run directory, again and at will, without root. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { MrmTraceError } from "./errors.ts";
import { runPaths } from "./report/run-directory.ts";
import { type Derived, derive } from "./run/derive.ts";
import { readFacts } from "./run/facts.ts";

/** Derives everything after capture/ of a run directory. @throws MrmTraceError usage, data_quality or environment */
export async function analyse(runDir: string): Promise<Derived> {
  if (!existsSync(runDir)) {
    throw new MrmTraceError(
      "usage",
      `no such run directory: "${runDir}"`,
      "give the folder that `mrm-trace run` named",
    );
  }
  const directory = runPaths(resolve(runDir));
  return await derive(directory, readFacts(directory.path, directory.run_id, directory.model_id));
}
