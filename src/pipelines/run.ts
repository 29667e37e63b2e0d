/** The run, as one sentence: look at the machine, launch the target held, attach, record, judge, derive, report. */
import { optionWords } from "../config/flags.ts";
import {
  type DemoOptions,
  demoSchema,
  ofPresentation,
  type RunOptions,
  runSchema,
  serveSchema,
} from "../config/schema.ts";
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { measureBaseline } from "../overhead/baseline.ts";
import { compileLittle } from "../overhead/compiling.ts";
import { hostFacts } from "../overhead/host.ts";
import { dieFirst } from "../overhead/priority.ts";
import { countersOfLaunch, type EngineCounters } from "../record/engine-counters.ts";
import { type Recorded, recordTarget } from "../record/record-target.ts";
import type { Recording, StopReason } from "../record/recorder.ts";
import { openRecordingFolder } from "../record/recording-folder.ts";
import { reasonOf, type SignalWatch, stopIfAsked, whyNotBegun } from "../record/signals.ts";
import { collectorsOf, requireCollectors } from "../record/start-collectors.ts";
import type { Progress } from "../report/progress.ts";
import { writeFacts } from "../run-directory/facts.ts";
import { shownError } from "../run-directory/held-folder.ts";
import { modelId } from "../run-directory/run-directory.ts";
import type { ExperimentFacts } from "../schema/run-details.ts";
import { findProgram, type Launched, launchHeld } from "../target/held-command.ts";
import { ownGroup, runningOf, stillRunning, tellToEnd } from "../target/left-running.ts";
import { type Concluded, conclude, factsNote } from "./conclude.ts";
import { tellWhatIsKept } from "./kept-recording.ts";
import { resolveTarget, type Workload } from "./launched-target.ts";
import { tellOutlived, tellWaiting } from "./outlived-command.ts";
import { openTextsFile, savePromptOutputs } from "./prompt-outputs.ts";
import { earlyEnd, factsOfRun, leftText, type TargetEnd } from "./run-facts.ts";
import { openServing, optionsOf, type ServeRequest } from "./serving.ts";

/** How long a signal waits for the counters of a server, which are gone with it. */
const COUNTERS_MS = 1000;
/** How long a target may take to end after it was told to. */
const GRACE_MS = 10_000;
/** The same of a server that has answered all: one gives a large model back, and nobody waits at a terminal for it. */
const SERVER_GRACE_MS = 60_000;

export interface RunRequest {
  readonly options: RunOptions;
  readonly demo: DemoOptions;
  /** Empty for the demo. */
  readonly command: readonly string[];
  /** Makes us the client of the command, a server; the run is over when all was asked. */
  readonly serve?: ServeRequest;
  /** What the demo decodes; without it a time or a number of tokens. */
  readonly workload?: Workload;
  /** Name of the model in place of the one that its file tells. */
  readonly modelName?: string;
  /** What the experiment says of this run, for metadata.json. */
  readonly experiment?: ExperimentFacts;
  readonly progress: Progress;
  /** Lines for a person who asked for more. */
  readonly say: (line: string) => void;
  /** Lines that explain a wait, such as a download. */
  readonly notice: (line: string) => void;
  /** What ends the run in order: signals of the process, or what a program aborts. */
  readonly signals: SignalWatch;
  /** Where the command's stdout goes: 1, or 2 where stdout belongs to the report. */
  readonly stdoutFd: 1 | 2;
  /** True where this process is the tracer's alone, and may be put behind all others; false where a program called us. */
  readonly isOwnProcess: boolean;
}

export interface RunOutcome extends Concluded {
  readonly exitCode: number;
}

/**
 * Runs and traces a command, or the demo, and derives everything from what was captured.
 * @throws MrmTraceError usage, environment, target or failure; its `runDir` names what was left
 */
export async function run(request: RunRequest): Promise<RunOutcome> {
  try {
    return await launchAndTrace(request);
  } catch (error) {
    throw shownError(error);
  }
}

/** The command line that makes such a run; null for a run of an experiment, which its file makes. */
function repeatedBy({ options, demo, command, workload, experiment, serve }: RunRequest): readonly string[] | null {
  if (experiment !== undefined || workload !== undefined) return null;
  const watched = optionWords(runSchema.omit(ofPresentation), options);
  const served = serve === undefined ? [] : optionWords(serveSchema, optionsOf(serve));
  const launched = command.length === 0 ? optionWords(demoSchema, demo) : ["--", ...command];
  return ["mrm-trace", "run", ...watched, ...served, ...launched];
}

async function launchAndTrace(request: RunRequest): Promise<RunOutcome> {
  const { options, signals, notice, progress, isOwnProcess } = request;
  if (isOwnProcess) compileLittle();
  const asked = collectorsOf(options, { engineObjects: [], rawDir: "", isOwnProcess });
  await requireCollectors(asked, { pid: process.pid, command: request.command, held: true });
  const abort = new AbortController();
  signals.onFirst(() => abort.abort());
  const target = await resolveTarget(request.command, request.demo, options.seed, {
    signal: abort.signal,
    notice,
    workload: request.workload,
  });
  stopIfAsked(signals);
  findProgram(target.command[0] ?? "");
  const serving = request.serve === undefined ? null : await openServing(request.serve, target.command);
  const whole = serving?.command ?? target.command;
  const counters = await countersOf(request);
  using folder = openRecordingFolder(options, modelId(request.modelName ?? target.modelName, target.command), notice);
  const { directory } = folder;
  request.say(`run directory ${directory.path}`);
  const attached = collectorsOf(options, { engineObjects: target.engineObjects, rawDir: directory.raw, isOwnProcess });
  const collectors = serving?.with(attached) ?? attached;
  const command = collectors.all.reduce<readonly string[]>(
    (words, collector) => collector.launch?.(words) ?? words,
    whole,
  );
  using texts = target.isDemo ? openTextsFile() : null;
  using launched = launchHeld(command, {
    env: { ...target.env, ...texts?.env },
    stdoutFd: request.stdoutFd,
    ...(texts === null ? {} : { extraFd: texts.fd }),
  });
  // Not before: the target would inherit it.
  if (isOwnProcess) dieFirst().forEach(request.say);
  const host = hostFacts();
  progress.update({ phase: "baseline", tokens: 0, events: 0, lost: 0, share: null });
  const baseline = await measureBaseline({ durationMs: options.baseline / 1e6, signal: abort.signal });
  stopIfAsked(signals);

  let ended: TargetEnd = null;
  launched.ended.then((how) => {
    ended = how;
  });
  const stopped = Promise.withResolvers<StopReason>();
  /** True once our client has asked all, which ends the server; false where it could not. */
  let served: boolean | null = null;
  let isRecorded = false;
  void tellOutlived(launched, collectors.tree.living, () => isRecorded || signals.received !== null, notice);
  const decodesForATime = target.isDemo && request.workload === undefined;
  const experiment = request.experiment ?? null;
  const circumstances = { directory, options, repeatedBy: repeatedBy(request), experiment, host, baseline };
  const recorded = await recordTarget({
    options,
    isOwnProcess,
    target: { pid: launched.pid, command: whole, held: true },
    directory,
    collectors,
    model: target.model,
    progress,
    expected_ns: request.serve?.duration_ns ?? (decodesForATime ? request.demo.seconds * 1e9 : null),
    async begin() {
      await counters?.begin();
      tellWhatIsKept(signals, directory.path, progress);
      signals.onFirst(async (signal) => {
        if (counters !== null) await Promise.race([counters.end(), Bun.sleep(COUNTERS_MS)]);
        // A terminal has sent it to the target already: its process group is ours.
        if (signal === "SIGTERM" || !process.stdin.isTTY) launched.signal(signal);
        tellWaiting(signal, launched.ended, GRACE_MS, notice);
        setTimeout(() => stopped.resolve(reasonOf(signal)), GRACE_MS).unref();
      });
      launched.release();
      serving?.client.over.then((failure) => {
        served = failure === null;
        launched.signal("SIGTERM");
        setTimeout(() => stopped.resolve("duration"), served ? SERVER_GRACE_MS : GRACE_MS).unref();
      });
    },
    ...(counters === null ? {} : { atEnd: counters.end }),
    rootEnded: () => ended !== null,
    stopped: stopped.promise,
    note: factsNote({ ...circumstances, ended: null, toldToEnd: false }),
  }).catch(async (error: unknown) => {
    throw await whyNotBegun(error, signals);
  });
  const { recording } = recorded;
  isRecorded = true;
  let toldToEnd = false;
  let outOfTime = recording.reason === "duration";
  if (isOurEnd(recording) && ended === null) {
    const soFar = { ...recorded, ...circumstances, ended, toldToEnd };
    writeFacts(directory.heldPath, factsOfRun(soFar));
    notice(`${earlyEnd(soFar)}; the command runs on, and the results come when it has ended`);
    outOfTime = await goesOn(launched, stopped.promise, timeLeft(options.duration, recorded));
  }
  if (ended === null && recording.reason !== "target_ended") {
    toldToEnd = true;
    ended = await endTarget(launched);
  }
  const left = recording.reason === "target_ended" ? [] : await endOthers(launched.pid, recorded.living);
  const leftWords = leftText(left);
  if (leftWords !== null) notice(leftWords);
  // A target that ended because a signal was passed on to it did not do all it had to.
  const cut = signals.received !== null && recording.reason === "target_ended";
  const reason = cut ? reasonOf(signals.received) : recording.reason;
  const untold = texts === null ? null : savePromptOutputs(directory, texts.fd);
  const counted = counters === null ? {} : { engineCounts: counters.counts() };
  const end = {
    ...recorded,
    ...circumstances,
    ended,
    toldToEnd,
    left,
    recording: { ...recording, reason },
    untold,
    ...counted,
  };
  const concluded = await conclude(end, progress, signals, isOwnProcess);
  return { ...concluded, exitCode: exitCodeOf(recording, outOfTime, ended, signals, served) };
}

/** The counters of the server that is launched, where they are asked for. @throws MrmTraceError usage */
async function countersOf({ options, command, serve, notice }: RunRequest): Promise<EngineCounters | null> {
  const { engine_metrics } = options;
  if (engine_metrics === undefined) return null;
  if (serve !== undefined || command.length === 0) {
    const why = serve === undefined ? "the demo is no server" : "our client has the server's count of each request";
    const hint = "leave it out, or name the command of a server without --serve";
    throw new MrmTraceError("usage", `--engine-metrics was given, and ${why}`, hint);
  }
  return await countersOfLaunch(engine_metrics, notice);
}

/** True where a recording ended for our sake: a limit or a disk of ours is none of the target's business. */
function isOurEnd({ reason }: Recording): boolean {
  return reason === "max_size" || reason === "disk";
}

/** What is left of the time that the target may take, in ms; infinite where there is no limit. */
function timeLeft(duration_ns: number | undefined, { started_ns }: Recorded): number {
  if (duration_ns === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, (duration_ns - Number(monotonicNs() - started_ns)) / 1e6);
}

/** Lets the target go on without us until it ends, a signal was given its time, or the limit is reached, which is true. */
async function goesOn(launched: Launched, signalled: Promise<StopReason>, left_ms: number): Promise<boolean> {
  const limit = Promise.withResolvers<boolean>();
  // Beyond what a timer can count nobody waits.
  const timer = left_ms < 2 ** 31 ? setTimeout(() => limit.resolve(true), left_ms) : undefined;
  const without = (ending: Promise<unknown>): Promise<boolean> => ending.then(() => false);
  try {
    return await Promise.race([without(launched.ended), without(signalled), limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends a target that outlived its run; one that does not listen is left running, and the report says so. */
async function endTarget(launched: Launched): Promise<TargetEnd> {
  launched.signal("SIGTERM");
  return await Promise.race([launched.ended, Bun.sleep(GRACE_MS).then(() => null)]);
}

/** Ends what else of the tree runs. @returns pids of those that run on */
async function endOthers(root: number, living: readonly number[]): Promise<number[]> {
  const others = runningOf(living.filter((pid) => pid !== root));
  if (others.length === 0) return [];
  const group = ownGroup();
  tellToEnd(others, group);
  const until = monotonicNs() + BigInt(GRACE_MS) * 1_000_000n;
  let left = stillRunning(others);
  // Who has a group of its own was not told to end.
  while (left.some(({ process_group }) => process_group === group) && monotonicNs() < until) {
    await Bun.sleep(20);
    left = stillRunning(left);
  }
  return left.map(({ pid }) => pid);
}

/** @param served see above; null for what has no client of ours, or was not asked to the end */
function exitCodeOf(
  recording: Recording,
  outOfTime: boolean,
  ended: TargetEnd,
  signals: SignalWatch,
  served: boolean | null,
): number {
  if (signals.received !== null) return EXIT_CODES[reasonOf(signals.received)];
  if (recording.writeError !== null) return recording.writeError.exitCode;
  if (outOfTime) return EXIT_CODES.time_limit;
  if (served === false) return EXIT_CODES.target;
  // That is how we ended it.
  if (served === true && ended?.signal === "SIGTERM") return EXIT_CODES.ok;
  if (ended !== null && (ended.signal !== null || ended.exit_code !== 0)) return EXIT_CODES.target;
  return EXIT_CODES.ok;
}
