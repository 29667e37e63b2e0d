/** `run` for programs: what `mrm-trace run` does, without taking hold of the process that calls it. */
import { demoSchema, runSchema } from "../config/schema.ts";
import { derivedReport } from "../pipelines/conclude.ts";
import { run as runPipeline } from "../pipelines/run.ts";
import { watchAbort } from "../record/abort-watch.ts";
import type { ProgressState } from "../report/progress.ts";
import type { RunReport } from "../schema/run-json.ts";
import { type ProgramOptions, programOptions } from "./options.ts";
import { progressTo } from "./progress.ts";

/** The options of `mrm-trace run` under their names in a configuration file; times in ns or `500ms`, sizes in bytes or `64MB`. */
export interface RunOptions extends ProgramOptions<typeof runSchema> {
  /** Program and arguments to launch and trace; without it the demo engine. */
  readonly command?: readonly string[];
  readonly demo?: ProgramOptions<typeof demoSchema>;
  /** Where the command's stdout goes: ours, or our stderr. Default: stdout. */
  readonly commandStdout?: "stdout" | "stderr";
  /**
   * Ends the run as SIGTERM ends `mrm-trace run`: the command is told to end, what was measured is analysed and kept. While
   * that is analysed it ends the analysis, and `run` throws.
   */
  readonly signal?: AbortSignal;
  /** Called ten times a second at most while something happens; what it throws ends the run. */
  readonly onProgress?: (state: ProgressState) => void;
  /** Called with lines that explain a wait, such as the download of the demo engine. */
  readonly onNotice?: (line: string) => void;
}

export interface RunResult {
  /** The run directory, as `--output` and the ids give it; for `openRun`. */
  readonly runDir: string;
  /** What `run --json` prints, with numbers or bigints in the place of decimal strings. */
  readonly report: RunReport;
  /** What the command line would exit with: 0, 3 (the disk was full), 6 (the command failed), 124 (`duration`), 143 (aborted). */
  readonly exitCode: number;
}

/**
 * Launches a command, or the demo engine, traces it, and derives everything from what was captured. Needs the rights
 * that `mrm-trace run` needs. Never ends the process and installs no signal handler; runs may follow each other, and
 * run side by side.
 * @throws MrmTraceError usage (options), environment (rights, kernel, disk), target (the command cannot start),
 *   terminated (aborted before anything was recorded, or while it was analysed), failure; `runDir` of the error names what was left, if anything
 */
export async function run(options: RunOptions = {}): Promise<RunResult> {
  const { command = [], demo = {}, commandStdout = "stdout", signal, onProgress, onNotice, ...given } = options;
  using signals = watchAbort(signal);
  const outcome = await runPipeline({
    options: programOptions(runSchema, given),
    demo: programOptions(demoSchema, demo, "demo."),
    command,
    progress: progressTo(onProgress),
    say: () => {},
    notice: onNotice ?? (() => {}),
    signals,
    stdoutFd: commandStdout === "stderr" ? 2 : 1,
    isOwnProcess: false,
  });
  return { runDir: outcome.directory.path, report: derivedReport(outcome), exitCode: outcome.exitCode };
}
