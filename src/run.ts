/** The run, as one sentence: look at the machine, launch the target held, attach, record, judge, derive, report. */
import { cpus } from "node:os";
import type { Collector, Target } from "./collect/collector.ts";
import { type Collectors, createCollectors } from "./collect/collectors.ts";
import type { DemoOptions, RunOptions } from "./config/schema.ts";
import { findProgram, type Launched, launchHeld } from "./engine/command.ts";
import { MrmTraceError } from "./errors.ts";
import { monotonicNs } from "./kernel/libc.ts";
import { measureBaseline } from "./overhead/baseline.ts";
import { hostFacts } from "./overhead/host.ts";
import { createThermalUse } from "./overhead/thermal.ts";
import type { Progress } from "./report/progress.ts";
import { createRunDirectory, modelId, newRunId, type RunDirectory } from "./report/run-directory.ts";
import type { Derived } from "./run/derive.ts";
import type { ExperimentFacts } from "./run/experiment-facts.ts";
import { writeFacts } from "./run/facts.ts";
import { type CanRun, factsOfRun } from "./run/judge.ts";
import { createProcessUse } from "./run/process-use.ts";
import { type Recording, record, type StopReason } from "./run/recorder.ts";
import { runState } from "./run/run-state.ts";
import type { SignalWatch } from "./run/signals.ts";
import { type RunTarget, resolveTarget, type Workload } from "./run/target.ts";
import { createTokenCount } from "./run/token-count.ts";

/** How long a target may take to end after it was told to. */
const GRACE_MS = 10_000;

export interface RunRequest {
  readonly options: RunOptions;
  readonly demo: DemoOptions;
  /** Empty for the demo. */
  readonly command: readonly string[];
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
}

export interface RunOutcome extends Derived {
  readonly exitCode: number;
}

/**
 * Runs and traces a command, or the demo, and derives everything from what was captured.
 * @throws MrmTraceError usage, environment, target or failure; its `runDir` names what was left
 */
export async function run(request: RunRequest): Promise<RunOutcome> {
  const { options, signals, notice } = request;
  const settings = {
    budgetPct: options.budget,
    watchRegisters: options.watch_registers,
    sources: options.source,
    ebpf: options.ebpf,
    clockHz: options.clock_hz,
    memray: options.memray,
    seed: options.seed,
    perfMem: options.perf,
  };
  const asked = createCollectors(options.collector, { ...settings, engineObjects: [], rawDir: "" });
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
  const directory = createRunDirectory({
    output: options.output,
    model_id: modelId(request.modelName ?? target.modelName, target.command),
    run_id: options.run_id ?? newRunId(),
    force: options.force,
  });
  request.say(`run directory ${directory.path}`);
  const collectors = createCollectors(options.collector, {
    ...settings,
    engineObjects: target.engineObjects,
    rawDir: directory.raw,
  });
  const command = collectors.all.reduce<readonly string[]>(
    (words, collector) => collector.launch?.(words) ?? words,
    target.command,
  );
  using launched = launchHeld(command, { env: target.env, stdoutFd: request.stdoutFd });
  const host = hostFacts();
  request.progress.update({ phase: "baseline", tokens: 0, events: 0, lost: 0, share: null });
  const baseline = await measureBaseline({ durationMs: options.baseline / 1e6, signal: abort.signal });
  stopIfAsked(signals);

  const taken = await recordTarget({ request, target, launched, directory, collectors, signals });
  const facts = factsOfRun({
    ...taken,
    directory,
    options,
    experiment: request.experiment ?? null,
    host,
    baseline,
    cpus: cpus().length,
    watch: collectors.ebpf?.watchSummary() ?? null,
    samples: collectors.ebpf?.sampleSummary() ?? null,
    clock: collectors.ebpf?.clockSummary() ?? null,
    bpfCosts: collectors.ebpf?.bpfCosts() ?? [],
  });
  try {
    writeFacts(directory.path, facts);
    request.progress.update({ phase: "analysing", tokens: 0, events: 0, lost: 0, share: null });
    // Loaded only now: what analyses takes memory that the tracer does not need while it records.
    const { derive } = await import("./run/derive.ts");
    const derived = await derive(directory, facts);
    if (taken.recording.writeError) throw taken.recording.writeError;
    return { ...derived, exitCode: exitCodeOf(taken.recording.reason, taken.ended, signals) };
  } catch (error) {
    // What fails on a disk that was full before fails because of that.
    throw withRunDir(taken.recording.writeError ?? error, directory.path);
  } finally {
    request.progress.clear();
  }
}

/** The error, naming the run directory that holds what was measured before it. */
function withRunDir(error: unknown, runDir: string): unknown {
  return error instanceof Error ? Object.assign(error, { runDir }) : error;
}

/** What each collector says of itself. @throws MrmTraceError environment, where one of them cannot run */
async function requireCollectors({ all }: Collectors, target: Target) {
  const able: { readonly collector: Collector; readonly can: CanRun }[] = [];
  for (const collector of all) {
    const can = await collector.canRun(target);
    if (!can.ok) throw new MrmTraceError("environment", can.reason, can.hint);
    able.push({ collector, can });
  }
  return able;
}

/** Starts them in order; where one fails, those before it are stopped. */
async function startAll({ all }: Collectors, target: Target): Promise<void> {
  for (const [i, collector] of all.entries()) {
    try {
      await collector.start(target);
    } catch (error) {
      await Promise.allSettled(all.slice(0, i + 1).map((started) => started.stop()));
      throw error;
    }
  }
}

/** @throws MrmTraceError interrupted or terminated, when a signal came before anything was recorded */
function stopIfAsked(signals: SignalWatch): void {
  if (signals.received === null) return;
  const code = signals.received === "SIGINT" ? "interrupted" : "terminated";
  throw new MrmTraceError(code, `${signals.received} came before the target was started`, "nothing was recorded");
}

interface RecordRequest {
  readonly request: RunRequest;
  readonly target: RunTarget;
  readonly launched: Launched;
  readonly directory: RunDirectory;
  readonly collectors: Collectors;
  readonly signals: SignalWatch;
}

export type TargetEnd = Awaited<Launched["ended"]> | null;

/** Attaches everything to the held target, lets it go, and records until it is over. */
async function recordTarget({ request, target, launched, directory, collectors, signals }: RecordRequest) {
  const { options } = request;
  const use = createProcessUse();
  const thermal = createThermalUse(cpus().length);
  const tokens = createTokenCount();
  const held = { pid: launched.pid, command: target.command, held: true };
  // `process` is last, so that what attaching cost, before the target runs, is not taken for a cost of the run.
  await startAll(collectors, held);
  for (const collector of collectors.all) {
    for (const pid of collector.helpers?.() ?? []) collectors.process.addHelper(pid);
  }
  const able = await requireCollectors(collectors, held);
  let ended: TargetEnd = null;
  launched.ended.then((how) => {
    ended = how;
  });
  let stop: (why: StopReason) => void = () => {};
  const stopped = new Promise<StopReason>((resolve) => {
    stop = resolve;
  });
  signals.onFirst((signal) => {
    // A terminal has sent SIGINT to the target already: its process group is ours.
    if (signal === "SIGTERM" || !process.stdin.isTTY) launched.signal(signal);
    setTimeout(() => stop(signal === "SIGINT" ? "interrupted" : "terminated"), GRACE_MS).unref();
  });
  const known = new Set<number>();
  const started_ns = monotonicNs();
  const started_at = new Date();
  launched.release();
  const recording = await record({
    runDir: directory.path,
    collectors: collectors.all,
    stopped,
    durationNs: options.duration,
    maxSizeBytes: options.max_size,
    onBatch(batch) {
      if (batch.table === "process") {
        use.take(batch);
        thermal.take(batch);
      }
      if (batch.table === "step") tokens.take(batch);
    },
    onPoll({ now_ns, rows, dropped }) {
      const state = runState(collectors);
      for (const pid of state.pids) {
        if (!known.has(pid)) collectors.process.addPid(pid);
        known.add(pid);
      }
      if (ended !== null && state.treeEnded) stop("target_ended");
      const limit =
        options.duration ?? (target.isDemo && request.workload === undefined ? request.demo.seconds * 1e9 : null);
      request.progress.update({
        phase: tokens.phase,
        tokens: tokens.decode_tokens,
        events: Object.values(rows).reduce((sum, n) => sum + n, 0),
        lost: dropped,
        share: limit === null ? null : Math.min(1, Number(now_ns - started_ns) / limit),
      });
    },
  });
  if (ended === null && recording.reason !== "target_ended") ended = await endTarget(launched);
  return {
    recording: { ...recording, reason: reasonOf(recording.reason, signals) },
    ended,
    started_ns,
    started_at,
    use,
    thermal: thermal.summary(),
    tokens,
    launched,
    target,
    state: runState(collectors),
    collectors: able,
  };
}

/** Ends a target that outlived its run; one that does not listen is left running, and the report says so. */
async function endTarget(launched: Launched): Promise<TargetEnd> {
  launched.signal("SIGTERM");
  return await Promise.race([launched.ended, Bun.sleep(GRACE_MS).then(() => null)]);
}

/** A target that ended because a signal was passed on to it did not do all it had to. */
function reasonOf(reason: StopReason, { received }: SignalWatch): StopReason {
  if (received === null || reason !== "target_ended") return reason;
  return received === "SIGINT" ? "interrupted" : "terminated";
}

function exitCodeOf(reason: Recording["reason"], ended: TargetEnd, signals: SignalWatch): number {
  if (signals.received !== null) return signals.received === "SIGINT" ? 130 : 143;
  if (reason === "duration") return 124;
  if (ended !== null && (ended.signal !== null || ended.exit_code !== 0)) return 6;
  return 0;
}
