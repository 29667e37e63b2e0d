/** The progress of a recording on stderr, and lines beside it. */
import { runQueueWaitNs } from "../kernel/run-queue-wait.ts";
import { createProgress, type Progress } from "../report/progress.ts";
import { printableLines } from "../report/terminal.ts";

export interface Lines {
  /** For a person who asked for more. */
  readonly say: (line: string) => void;
  /** For everybody who did not ask for silence. */
  readonly notice: (line: string) => void;
}

/** Progress that says, too, how long the tracer waited for a CPU. */
export function recordingProgress({ quiet }: { quiet: boolean }): Progress {
  return createProgress(process.stderr, { quiet, waitedNs: () => runQueueWaitNs(process.pid) });
}

export function linesBeside(progress: Progress, { verbose, quiet }: { verbose: boolean; quiet: boolean }): Lines {
  const print = (line: string): void => {
    progress.clear();
    process.stderr.write(`mrm-trace: ${printableLines(line)}\n`);
  };
  const silent = (): void => {};
  return { say: verbose ? print : silent, notice: quiet ? silent : print };
}
