/** The analysis of a run directory, again and at will, or of a trace that was recorded elsewhere; without root. */
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { MrmTraceError } from "../errors.ts";
import { discardRun } from "../run-directory/create-run.ts";
import { readFacts } from "../run-directory/facts.ts";
import { shownError } from "../run-directory/held-folder.ts";
import { ownCommand, requireThere } from "../run-directory/named-path.ts";
import { holdRun, runPaths } from "../run-directory/run-directory.ts";
import { type Derived, derive } from "./derive.ts";
import { derivingLimits } from "./deriving-memory.ts";
import { foreignTrace, type ImportOptions, importTrace } from "./import-trace.ts";
import { keepsRecording } from "./kept-recording.ts";

export interface AnalyseOptions extends ImportOptions {
  /** Bytes that it may take; what `derivingLimits` says by default. */
  readonly memory?: number | undefined;
}

/**
 * Derives everything after capture/ of a run directory; of a trace of the Python package's shape, in a new run directory.
 * @param runDir a run directory, a trace.parquet, or a folder with one
 * @throws MrmTraceError usage, data_quality or environment
 */
export async function analyse(runDir: string, { memory, ...options }: AnalyseOptions): Promise<Derived> {
  requireThere(runDir);
  const limits = derivingLimits(runDir, memory ?? null);
  const trace = foreignTrace(runDir);
  if (trace !== null) {
    const { run, facts } = importTrace(trace, options);
    using _run = run;
    using _held = holdRun(run.heldPath);
    try {
      return await derive(run.directory, facts, limits);
    } catch (error) {
      // What was no trace leaves nothing behind.
      discardRun(run);
      throw named(shownError(error), join(run.directory.path, "raw", "trace.parquet"), trace);
    }
  }
  refuseRoots(runDir);
  const directory = runPaths(resolve(runDir));
  using _held = holdRun(directory.path, "copy the run directory, and analyse the copy");
  const facts = readFacts(directory.path, directory.run_id, directory.model_id);
  try {
    return await derive(directory, facts, limits);
  } catch (error) {
    throw keepsRecording(error, runDir);
  }
}

/** The error of a file under the name by which it was given. */
function named(error: unknown, kept: string, given: string): unknown {
  if (!(error instanceof MrmTraceError)) return error;
  return new MrmTraceError(error.code, error.message.replaceAll(kept, given), error.hint, { cause: error });
}

/** @throws MrmTraceError environment, where the folder is root's, in which nobody else may write what is derived */
function refuseRoots(runDir: string): void {
  if (process.getuid?.() === 0 || statSync(runDir).uid !== 0) return;
  const why = "root traced it without sudo, or its tracer did not live to give it to you";
  throw new MrmTraceError("environment", `${runDir} is root's: ${why}`, ownCommand(runDir));
}
