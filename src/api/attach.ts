/** `attach` for programs: what `mrm-trace attach` does, without taking hold of the process that calls it. */

import { attachSchema } from "../config/schema.ts";
import { attach as attachPipeline } from "../pipelines/attach.ts";
import { derivedReport } from "../pipelines/conclude.ts";
import { watchAbort } from "../record/abort-watch.ts";
import type { ProgressState } from "../report/progress.ts";
import { type ProgramOptions, programOptions } from "./options.ts";
import { progressTo } from "./progress.ts";
import type { RunResult } from "./run.ts";

/** The options of `mrm-trace attach` under their names in a configuration file; times in ns or `500ms`, sizes in bytes or `64MB`. */
export interface AttachOptions extends ProgramOptions<typeof attachSchema> {
  /** Pid, or the whole name of a process or of its executable. */
  readonly process: number | string;
  /** Ends the run as SIGTERM ends `mrm-trace attach`: the target goes on, what was measured is analysed and kept. */
  readonly signal?: AbortSignal;
  /** Called ten times a second at most while something happens; what it throws ends the run. */
  readonly onProgress?: (state: ProgressState) => void;
  /** Called with lines that a person should see, such as that results could not be given to who called sudo. */
  readonly onNotice?: (line: string) => void;
}

/**
 * Traces a process tree that runs, until it ends, `duration` is over or `signal` is aborted, and derives everything from
 * what was captured. The target is left as it is. `exitCode` is 0, or 143 where it was aborted.
 * @throws MrmTraceError usage (options, several processes of the name), environment (rights, kernel, disk), target (no such
 *   process), terminated (aborted before anything was recorded), failure; `runDir` of the error names what was left, if anything
 */
export async function attach(options: AttachOptions): Promise<RunResult> {
  const { process, signal, onProgress, onNotice, ...given } = options;
  using signals = watchAbort(signal);
  const outcome = await attachPipeline({
    options: programOptions(attachSchema, given),
    process: String(process),
    progress: progressTo(onProgress),
    say: () => {},
    notice: onNotice ?? (() => {}),
    signals,
    isOwnProcess: false,
  });
  return { runDir: outcome.directory.path, report: derivedReport(outcome), exitCode: outcome.exitCode };
}
