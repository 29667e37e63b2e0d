/** `compare` of arms, as one sentence: choose the work, keep to our CPUs, measure, write what was found. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { batchFromRows } from "../columnar/rows.ts";
import { writeParquetFile } from "../columnar/write/parquet-writer.ts";
import type { CompareOptions } from "../config/compare.ts";
import type { CommandRecording, DemoOptions } from "../config/schema.ts";
import { MrmTraceError } from "../errors.ts";
import { bindProcess } from "../kernel/affinity.ts";
import { affinityCpus } from "../kernel/libc.ts";
import { RUNS_PER_BLOCK } from "../overhead/effect.ts";
import { hostFacts } from "../overhead/host.ts";
import type { Workload as Decoding } from "../pipelines/launched-target.ts";
import { reasonOf, type SignalWatch } from "../record/signals.ts";
import { writeFileAtomic } from "../run-directory/atomic-file.ts";
import { recordedCommand } from "../run-directory/recorded-command.ts";
import { modelSlug, newRunId } from "../run-directory/run-directory.ts";
import { type ArmEffect, encodeEffect, type ObserverEffect } from "../schema/observer-effect.ts";
import type { RowOf } from "../schema/row.ts";
import { toJson } from "../schema/run-json.ts";
import { JSON_SCHEMA_VERSION } from "../schema/versions.ts";
import { asUser } from "../target/acting-user.ts";
import { invokingUser } from "../target/invoking-user.ts";
import { isRootsAlone, makerOf, rootsGift } from "../target/results-maker.ts";
import { type Arm, armsOf } from "./arms.ts";
import { commandWorkload } from "./command-workload.ts";
import { demoWorkload } from "./demo-workload.ts";
import { type Measured, measureArms } from "./measure-arms.ts";
import { type Placement, placementOf } from "./placement.ts";
import { serverWorkload } from "./server-workload.ts";
import { spinningWarning, threadEnvironment } from "./settings.ts";
import type { Workload } from "./workload.ts";

export interface CompareArmsRequest {
  readonly options: CompareOptions;
  readonly demo: DemoOptions;
  /** What the demo decodes where an experiment says it. */
  readonly decoding?: Decoding | undefined;
  /** Options of the tracer in every traced arm. */
  readonly tracer: readonly string[];
  /** Empty for the demo. */
  readonly command: readonly string[];
  readonly recordCommand: CommandRecording;
  readonly signals: SignalWatch;
  readonly say: (line: string) => void;
}

export interface Compared {
  readonly effect: ObserverEffect;
  /** Folder of observer_effect.json and observer_effect.parquet. */
  readonly folder: string;
}

const DEFAULT_ARMS = ["ebpf", "attached-idle"];

function workloadOf(
  { options, demo, decoding, command, say }: CompareArmsRequest,
  threads: number,
  folder: string,
  signal: AbortSignal,
): Promise<Workload> | Workload {
  if (command.length === 0) {
    if (options.serve !== undefined) {
      const hint = "name it, such as: mrm-trace compare --serve 30s -- llama-server -m model.gguf --port {port}";
      throw new MrmTraceError("usage", "--serve needs the command of a server", hint);
    }
    return demoWorkload({ demo, decoding, seed: options.seed, threads, folder, signal, say });
  }
  if (options.serve === undefined) return commandWorkload(command);
  if (options.serve >= options.timeout) {
    const [serve, timeout] = [options.serve, options.timeout].map((ns) => `${ns / 1e9}s`);
    const hint = "give the runs more time, such as: --timeout 1h";
    throw new MrmTraceError("usage", `a run may take ${timeout}, and --serve ${serve} takes all of it`, hint);
  }
  const { api, clients, request_tokens: tokens } = options;
  return serverWorkload(command, { api, clients, tokens, block_ns: options.serve });
}

/** Runs `act` while this process, and so every tool that it starts, keeps to the CPUs of the tools. */
async function besideTarget<T>({ toolCpus, pinned }: Placement, act: () => Promise<T>): Promise<T> {
  if (!pinned) return await act();
  const before = affinityCpus(0);
  bindProcess(process.pid, toolCpus);
  try {
    return await act();
  } finally {
    bindProcess(process.pid, before);
  }
}

/** How far two counts of the same tokens may lie apart: an engine may count a token that it did not send. */
const MOST_APART = 0.01;

/** Says it where the engine counts other tokens than our client received. */
function countWarning({ runs }: Measured): string[] {
  const apart = runs.filter(({ block, streamed_tokens, engine_tokens }) => {
    if (block < 0 || streamed_tokens === null || engine_tokens === null) return false;
    return Math.abs(engine_tokens - streamed_tokens) > MOST_APART * streamed_tokens;
  });
  if (apart.length === 0) return [];
  return [
    `in ${apart.length} of ${runs.length} runs the engine counts other tokens than it streamed, so that rates at the client may be of events with several tokens: see engine_tokens and streamed_tokens of each run`,
  ];
}

function warningsOf(measured: Measured, placement: Placement): string[] {
  const { openMp, unpinned, arms, failure } = measured;
  const spinning = spinningWarning(openMp, placement.targetCpus.length);
  return [
    ...(failure === null ? [] : [`stopped early: ${failure.message} (${failure.hint})`]),
    ...(spinning === null ? [] : [spinning]),
    ...countWarning(measured),
    ...(placement.pinned ? [] : ["target and tools share their CPUs: slowdowns hold the scheduler's part"]),
    ...(placement.pinned && unpinned > 0 ? [`${unpinned} runs could not be bound to the CPUs of the target`] : []),
    ...arms.filter(({ events_kept }) => events_kept === 0).map(({ arm }) => `${arm} recorded no event`),
  ];
}

/** One row per arm and figure, with what the arm recorded and took in each. */
function effectRows(arms: readonly ArmEffect[]): RowOf<"observer_effect">[] {
  return arms.flatMap(({ figures, verdict, cost_per_event_ns: cost, options, unavailable, ...arm }) =>
    figures.map(({ slowdown_pct: slowdown, ...figure }) => ({
      ...arm,
      arm_verdict: verdict,
      ...figure,
      slowdown_pct: slowdown.value,
      slowdown_lo_pct: slowdown.lo,
      slowdown_hi_pct: slowdown.hi,
      cost_per_event_ns: cost?.value ?? null,
      cost_per_event_lo_ns: cost?.lo ?? null,
      cost_per_event_hi_ns: cost?.hi ?? null,
    })),
  );
}

function writeEffect(folder: string, effect: ObserverEffect, notice: (line: string) => void): void {
  using gift = rootsGift(folder, notice);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [json, parquet] = [join(folder, "observer_effect.json"), join(folder, "observer_effect.parquet")];
  writeFileAtomic(json, `${toJson(encodeEffect(effect), 2)}\n`);
  const batch = batchFromRows("observer_effect", effectRows(effect.arms));
  writeParquetFile(parquet, "observer_effect", [batch]);
  gift.add(json);
  gift.add(parquet);
}

/** Ends what runs when the first signal comes. */
function abortOn(signals: SignalWatch): AbortSignal {
  const abort = new AbortController();
  signals.onFirst((signal) => {
    abort.abort(
      new MrmTraceError(
        reasonOf(signal),
        `${signal} came before the first run that counts`,
        "start it again: nothing was compared",
      ),
    );
  });
  return abort.signal;
}

/**
 * Compares arms on the demo, a command or a server, and writes observer_effect.json and .parquet.
 * @throws MrmTraceError usage, environment, target; interrupted or terminated before the first run that counts
 */
export async function compareArms(request: CompareArmsRequest): Promise<Compared> {
  const { options, signals, say } = request;
  const arms: readonly Arm[] = armsOf(options.arms ?? DEFAULT_ARMS, request.tracer);
  const signal = abortOn(signals);
  const placement = placementOf(options.pin);
  const user = invokingUser();
  const scratch = mkdtempSync(join(tmpdir(), "mrm-compare-"));
  // Behind sudo the target runs as the user, who writes the report.
  const shared = asUser(user, () => mkdtempSync(join(tmpdir(), "mrm-compare-shared-")));
  try {
    if (user !== null && !isRootsAlone(scratch)) {
      const hint = "leave TMPDIR out, or name a folder that only root may change";
      throw new MrmTraceError("environment", `others may change what is in ${tmpdir()}`, hint);
    }
    const workload = await workloadOf(request, placement.targetCpus.length, shared, signal);
    const timeoutMs = options.timeout / 1e6;
    const { seed, margin: marginPct } = options;
    // Every arm runs twice in each block.
    const repeats = RUNS_PER_BLOCK * Math.ceil(options.repeats / RUNS_PER_BLOCK);
    if (repeats !== options.repeats) say(`--repeats ${options.repeats}: every arm runs in pairs, so it is ${repeats}`);
    const measured = await besideTarget(placement, () =>
      measureArms({ arms, workload, placement, scratch, timeoutMs, seed, repeats, marginPct, signal, say }),
    );
    const compare_id = newRunId();
    const { failure } = measured;
    const stopped = reasonOf(signals.received ?? "SIGTERM");
    const effect: ObserverEffect = {
      schema_version: JSON_SCHEMA_VERSION,
      compare_id,
      workload: {
        kind: workload.kind,
        command: recordedCommand(workload.command, request.recordCommand),
        ...(workload.load === undefined ? {} : { load: workload.load }),
      },
      repeats,
      blocks: measured.blocks,
      seed,
      margin_pct: marginPct,
      deciding_figure: measured.deciding_figure,
      stopped_by: measured.complete ? "complete" : failure === null ? stopped : "failed",
      failure: failure === null ? null : { code: failure.code, message: failure.message, hint: failure.hint },
      settings: {
        target_cpus: placement.targetCpus,
        tool_cpus: placement.toolCpus,
        threads: measured.threads,
        engine_threads: workload.engineThreads,
        environment: threadEnvironment(),
      },
      warnings: warningsOf(measured, placement),
      arms: measured.arms,
      runs: measured.runs,
      host: { ...hostFacts() },
    };
    const folder = join(options.output, modelSlug(workload.modelName), `compare-${compare_id}`);
    makerOf(options.output).as(() => writeEffect(folder, effect, say));
    return { effect, folder };
  } finally {
    asUser(user, () => rmSync(shared, { recursive: true, force: true }));
    rmSync(scratch, { recursive: true, force: true });
  }
}
