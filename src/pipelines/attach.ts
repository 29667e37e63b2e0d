/** Attaching, as one sentence: find the process, look at the machine, attach, record, judge, derive, report. */
import type { Target } from "../collect/collector.ts";
import { optionWords } from "../config/flags.ts";
import { type AttachOptions, attachSchema, ofPresentation } from "../config/schema.ts";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { measureBaseline } from "../overhead/baseline.ts";
import { compileLittle } from "../overhead/compiling.ts";
import { hostFacts } from "../overhead/host.ts";
import { dieFirst } from "../overhead/priority.ts";
import { openEngineCounters } from "../record/engine-counters.ts";
import { type RecordRequest, recordTarget } from "../record/record-target.ts";
import type { StopReason } from "../record/recorder.ts";
import { openRecordingFolder } from "../record/recording-folder.ts";
import { reasonOf, type SignalWatch, stopIfAsked } from "../record/signals.ts";
import { collectorsOf, requireCollectors } from "../record/start-collectors.ts";
import type { Progress } from "../report/progress.ts";
import { shownError } from "../run-directory/held-folder.ts";
import { recordedCommand } from "../run-directory/recorded-command.ts";
import { modelId } from "../run-directory/run-directory.ts";
import { isRunning, type RunningProcess, runningProcess } from "../target/running-process.ts";
import { treeTicks } from "../target/tree-cpu.ts";
import { type Concluded, conclude, factsNote } from "./conclude.ts";
import { tellWhatIsKept } from "./kept-recording.ts";
import { runningModel } from "./running-model.ts";

export interface AttachRequest {
  readonly options: AttachOptions;
  /** Pid, or the whole name of a process or of its executable. */
  readonly process: string;
  readonly progress: Progress;
  /** Lines for a person who asked for more. */
  readonly say: (line: string) => void;
  /** Lines that a person should see, such as what could not be given to them. */
  readonly notice: (line: string) => void;
  /** What ends the run in order, and leaves the target alone. */
  readonly signals: SignalWatch;
  /** See RunRequest. */
  readonly isOwnProcess: boolean;
}

export interface AttachOutcome extends Concluded {
  readonly exitCode: number;
}

/**
 * Traces a process tree that runs already, until it ends or a limit or a signal says so, and derives everything from what
 * was captured. The target is never signalled, stopped or changed.
 * @throws MrmTraceError usage, environment, target or failure; its `runDir` names what was left
 */
export async function attach(request: AttachRequest): Promise<AttachOutcome> {
  try {
    return await attachAndTrace(request);
  } catch (error) {
    throw shownError(error);
  }
}

async function attachAndTrace({ options, progress, say, signals, ...request }: AttachRequest): Promise<AttachOutcome> {
  stopIfAsked(signals);
  const { isOwnProcess } = request;
  if (isOwnProcess) compileLittle();
  const found = runningProcess(request.process);
  const target: Target = { pid: found.pid, command: found.command, held: false };
  const asked = collectorsOf(options, { engineObjects: [], rawDir: "", isOwnProcess });
  await orEnded(found, () => requireCollectors(asked, target));
  const counters = options.engine_metrics === undefined ? null : await openEngineCounters(options.engine_metrics);
  const { name, model } = runningModel(found);
  using folder = openRecordingFolder(options, modelId(name, found.command), request.notice);
  const { directory } = folder;
  say(`process ${found.pid}: ${recordedCommand(found.command, options.record_command).join(" ")}`);
  say(`run directory ${directory.path}`);
  const collectors = collectorsOf(options, { engineObjects: [], rawDir: directory.raw, isOwnProcess });
  const abort = new AbortController();
  signals.onFirst((signal) => {
    // On a full machine what comes now takes long: whoever asked should know that it was heard.
    request.notice(`${signal}: ending in order; a second signal ends the tracer at once`);
    abort.abort();
  });
  if (isOwnProcess) dieFirst().forEach(say);
  const host = hostFacts();
  progress.update({ phase: "baseline", tokens: 0, events: 0, lost: 0, share: null });
  const baseline = await measureBaseline({
    durationMs: options.baseline / 1e6,
    targetTicks: () => treeTicks(found.pid),
    signal: abort.signal,
  });
  stopIfAsked(signals);
  progress.update({ phase: "attaching", tokens: 0, events: null, lost: 0, share: null });

  const stopped = Promise.withResolvers<StopReason>();
  const running = { ended: null, toldToEnd: false };
  const words = optionWords(attachSchema.omit(ofPresentation), options);
  const repeatedBy = ["mrm-trace", "attach", request.process, ...words];
  const circumstances = { directory, options, repeatedBy, experiment: null, host, baseline, ...running };
  const recording: RecordRequest = {
    options,
    isOwnProcess,
    target,
    directory,
    collectors,
    model,
    progress,
    expected_ns: null,
    async begin() {
      await counters?.begin();
      say("recording");
      tellWhatIsKept(signals, directory.path, progress);
      signals.onFirst((signal) => stopped.resolve(reasonOf(signal)));
    },
    ...(counters === null ? {} : { atEnd: counters.end }),
    rootEnded: () => true,
    stopped: stopped.promise,
    note: factsNote(circumstances),
  };
  const recorded = await orEnded(found, () => recordTarget(recording));
  const counted = counters === null ? {} : { engineCounts: counters.counts() };
  const ended = recorded.exit === null ? null : { ...recorded.exit, released_ns: null };
  const end = { ...recorded, ...circumstances, ...counted, ended };
  const concluded = await conclude(end, progress, signals, isOwnProcess);
  if (signals.received !== null) return { ...concluded, exitCode: EXIT_CODES[reasonOf(signals.received)] };
  return { ...concluded, exitCode: recorded.recording.writeError?.exitCode ?? EXIT_CODES.ok };
}

/** What needs the process alive. @throws MrmTraceError target, where it ended before, or while, it was attached to */
async function orEnded<T>(found: RunningProcess, act: () => Promise<T>): Promise<T> {
  const ended = (cause?: unknown) =>
    new MrmTraceError("target", `process ${found.pid} ended before it could be traced`, "start it again", { cause });
  // Its number may be another's by now.
  if (!isRunning(found)) throw ended();
  try {
    return await act();
  } catch (error) {
    throw isRunning(found) ? error : ended(error);
  }
}
