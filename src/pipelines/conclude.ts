/** The end of a run, however it was recorded: what it was worth, and everything that is derived from it. */

import { MrmTraceError } from "../errors.ts";
import { compileAsUsual } from "../overhead/compiling.ts";
import { stepBack } from "../overhead/priority.ts";
import type { Recorded, RecordingNote } from "../record/record-target.ts";
import { reasonOf, type SignalWatch } from "../record/signals.ts";
import type { Progress } from "../report/progress.ts";
import { tellWorking } from "../report/working.ts";
import { completeFacts, factsPath, factsText } from "../run-directory/facts.ts";
import type { RunDirectory } from "../run-directory/run-directory.ts";
import type { RunReport } from "../schema/run-json.ts";
import { derivingLimits } from "./deriving-memory.ts";
import { keepsRecording } from "./kept-recording.ts";
import { factsOfRun, type RunEnd } from "./run-facts.ts";

export interface Concluded {
  /** Null where the run was to be recorded only. */
  readonly report: RunReport | null;
  readonly directory: RunDirectory;
}

/** The report of a run that was to derive it. @throws MrmTraceError usage for one that was recorded only */
export function derivedReport({ report, directory }: Concluded): RunReport {
  if (report !== null) return report;
  throw new MrmTraceError("usage", "record_only derives no report", `run: mrm-trace analyse ${directory.path}`);
}

/** The facts of a run while it is recorded, should nobody live to complete them. */
export function factsNote(circumstances: Omit<RunEnd, keyof Recorded>): RecordingNote {
  return {
    path: factsPath(circumstances.directory.heldPath),
    text: (recorded) => factsText(factsOfRun({ ...recorded, ...circumstances })),
  };
}

/**
 * Judges a recording and writes its facts; derives all files of the run directory, unless it was to be recorded only.
 * @param isOwnProcess see RunRequest
 * @throws MrmTraceError environment or failure; interrupted, terminated or hangup where a first signal came while it
 *   derived; its `runDir` names what was left
 */
export async function conclude(
  end: RunEnd,
  progress: Progress,
  signals: SignalWatch,
  isOwnProcess: boolean,
): Promise<Concluded> {
  const { recording, directory, options } = end;
  const facts = factsOfRun(end);
  // Asked before the facts are there: who sees them there may signal at once.
  const signal = stopDeriving(signals, directory.path);
  try {
    completeFacts(directory.heldPath, facts);
    if (options.record_only) return { report: null, directory };
    using _working = tellWorking(progress, "analysing");
    if (isOwnProcess) {
      stepBack();
      compileAsUsual();
    }
    // Loaded only now: what analyses takes memory that the tracer does not need while it records.
    const { derive } = await import("./derive.ts");
    const limits = { ...derivingLimits(directory.path), signal };
    signal.throwIfAborted();
    return await derive(directory, facts, limits);
  } catch (error) {
    throw withRunDir(becauseOf(recording.writeError, error, directory.path), directory.path);
  } finally {
    progress.clear();
  }
}

/** Aborted by a signal that comes now; the one that ended the recording asked for its results. */
function stopDeriving(signals: SignalWatch, runDir: string): AbortSignal {
  const abort = new AbortController();
  if (signals.received !== null) return abort.signal;
  signals.onFirst((signal) => {
    const hint = `derive them from what was recorded, which is whole: mrm-trace analyse ${runDir}`;
    abort.abort(new MrmTraceError(reasonOf(signal), `${signal} came before all results were derived`, hint));
  });
  return abort.signal;
}

/** The error of deriving; on a disk that was full before it failed because of that, and what was recorded is still there. */
function becauseOf(written: MrmTraceError | null, cause: unknown, runDir: string): unknown {
  if (written === null) return keepsRecording(cause, runDir);
  const hint = `${written.hint}; the results come from what was recorded: mrm-trace analyse ${runDir}`;
  return new MrmTraceError(written.code, written.message, hint, { cause });
}

/** The error, naming the run directory that holds what was measured before it. */
function withRunDir(error: unknown, runDir: string): unknown {
  return error instanceof Error ? Object.assign(error, { runDir }) : error;
}
