/** What is said where results are missing: what was recorded is still there, and gives them later. */
import { MrmTraceError } from "../errors.ts";
import type { SignalWatch } from "../record/signals.ts";
import type { Progress } from "../report/progress.ts";
import { printable } from "../report/terminal.ts";
import { analyseCommand } from "../run-directory/shell-words.ts";
import { isFull } from "../run-directory/unwritable.ts";

/** The error of deriving; of a disk that is full with the command that derives the results once there is room. */
export function keepsRecording(error: unknown, runDir: string): unknown {
  const isOurs = error instanceof MrmTraceError;
  const cause = isOurs ? error.cause : error;
  if (!(error instanceof Error) || !isFull(cause)) return error;
  const message = isOurs ? error.message : `the results cannot be written: ${error.message}`;
  const hint = `free some space; what was recorded is kept: ${analyseCommand(runDir)}, or of a copy of that folder on another disk`;
  return new MrmTraceError("environment", message, hint, { cause });
}

/** From here on a second signal, which ends us at once, says where the recording is: nothing else told its path so far. */
export function tellWhatIsKept(signals: SignalWatch, runDir: string, progress: Progress): void {
  signals.onSecond((signal) => {
    progress.clear();
    process.stderr.write(
      `mrm-trace: a second signal, ${signal}: ended at once, without results; what was recorded so far is kept in ${printable(runDir)}\n  fix: ${printable(analyseCommand(runDir))}\n`,
    );
  });
}
