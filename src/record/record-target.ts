/** The recording of one target: everything is attached, the target goes on, and what comes is kept until it is over. */
import { cpus } from "node:os";
import type { Collector, Target } from "../collect/collector.ts";
import type { Collectors } from "../collect/collectors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { createThermalUse, type ThermalSummary } from "../overhead/thermal-summary.ts";
import type { Progress } from "../report/progress.ts";
import { beginFacts } from "../run-directory/facts.ts";
import type { RunDirectory } from "../run-directory/run-directory.ts";
import { STREAMS, type StreamName } from "../schema/columns.ts";
import type { ModelFacts } from "../schema/model-facts.ts";
import { runningOf } from "../target/left-running.ts";
import { type BusyThreads, createBusyThreads } from "./busy-threads.ts";
import { createExitSight, type SeenExit } from "./exit-sight.ts";
import { createModelSight } from "./model-sight.ts";
import { createProcessUse, type ProcessUse } from "./process-use.ts";
import { type Recording, record, type StopReason } from "./recorder.ts";
import { type CanRun, startCollectors, type TracerOptions } from "./start-collectors.ts";
import { createTokenCount, type TokenCount } from "./token-count.ts";

export interface RecordRequest {
  readonly options: TracerOptions;
  /** True where this process is the tracer's alone; false where a program called us. */
  readonly isOwnProcess: boolean;
  readonly target: Target;
  readonly directory: RunDirectory;
  readonly collectors: Collectors;
  /** What is known of the model before it is loaded; null where it is to be looked for. */
  readonly model: ModelFacts | null;
  readonly progress: Progress;
  /** How long the target is expected to work, in ns, for the progress; null where nobody knows. */
  readonly expected_ns: number | null;
  /** Called when everything is attached, just before the recording, and waited for: lets a target go that was held. */
  readonly begin: () => void | Promise<void>;
  /** Called when the recording ends, before anything of it is closed. */
  readonly atEnd?: () => Promise<void>;
  /** True once the root is known to have ended; until then an empty tree is not believed. */
  readonly rootEnded: () => boolean;
  /** Ends the recording when it resolves. */
  readonly stopped: Promise<StopReason>;
  /** Keeps what is known of the recording in the run directory. @throws MrmTraceError environment */
  readonly note: RecordingNote;
}

/** The file that says what is known of a recording, should it not live to say so itself. */
export interface RecordingNote {
  readonly path: string;
  readonly text: (recorded: Recorded) => string;
}

/** A recording, or what there is of it so far. */
export interface Recorded {
  readonly recording: Recording;
  readonly started_ns: bigint;
  readonly started_at: Date;
  readonly use: ProcessUse;
  readonly busy: BusyThreads;
  readonly thermal: ThermalSummary;
  readonly tokens: TokenCount;
  /** What the file of the model says; null where none was found. */
  readonly model: ModelFacts | null;
  readonly target: Target;
  /** Every process that belonged to the tree of the target. */
  readonly pids: readonly number[];
  /** Those of them that had not ended. */
  readonly living: readonly number[];
  /** How the first process ended, as the kernel told it; null where it has not, or nobody watches processes. */
  readonly exit: SeenExit | null;
  /** True where others of the tree ran on when the first process had ended. */
  readonly outlived: boolean;
  /** The collectors with what they said once they had their target. */
  readonly collectors: readonly { readonly collector: Collector; readonly can: CanRun }[];
}

/**
 * Attaches to the target and records its tree until it has ended, or `stopped` or a limit of the options says so.
 * @throws MrmTraceError environment or target, when it cannot be attached to
 */
export async function recordTarget({
  options,
  target,
  directory,
  collectors,
  progress,
  note,
  ...request
}: RecordRequest): Promise<Recorded> {
  const use = createProcessUse();
  const busy = createBusyThreads();
  const thermal = createThermalUse(cpus().length);
  const tokens = createTokenCount();
  const sight = createModelSight(request.model);
  const exits = createExitSight(target.pid);
  // `process` starts last, so that what attaching cost, before the recording, is not taken for a cost of the run.
  const able = await startCollectors(collectors, target);
  let outlived: boolean | null = null;
  const treeEnded = Promise.withResolvers<StopReason>();
  const started_ns = monotonicNs();
  const started_at = new Date();
  const recordedWith = (recording: Recording): Recorded => ({
    recording,
    started_ns,
    started_at,
    use,
    busy,
    thermal: thermal.summary(),
    tokens,
    model: sight.model,
    target,
    pids: collectors.tree.pids(),
    living: collectors.tree.living(),
    exit: exits.exit,
    outlived: outlived === true,
    collectors: able,
  });
  beginFacts(note.path, note.text(recordedWith(nothingYet(started_ns))));
  // What was read to start is not needed again; from now on memory is beside the process.
  Bun.gc(true);
  await request.begin();
  const recording = await record({
    runDir: directory.heldPath,
    collectors: collectors.all,
    isOwnProcess: request.isOwnProcess,
    starting: target.held,
    stopped: Promise.race([request.stopped, treeEnded.promise]),
    note: { path: note.path, text: (soFar) => note.text(recordedWith(soFar)) },
    durationNs: options.duration,
    onEnd: request.atEnd,
    maxSizeBytes: options.max_size,
    onBatch(batch) {
      if (batch.table === "process") {
        use.take(batch);
        busy.take(batch);
        thermal.take(batch);
      }
      if (batch.table === "mapping") exits.take(batch);
      if (batch.table === "step") {
        tokens.take(batch);
        sight.take(batch);
      }
    },
    onPoll({ now_ns, rows, dropped }) {
      if (request.rootEnded()) {
        outlived ??= runningOf(collectors.tree.living()).length > 0;
        if (collectors.tree.hasEnded()) treeEnded.resolve("target_ended");
      }
      const limit = options.duration ?? request.expected_ns;
      progress.update({
        phase: tokens.phase,
        tokens: tokens.decode_tokens,
        events: Object.values(rows).reduce((sum, n) => sum + n, 0),
        lost: dropped,
        share: limit === null ? null : Math.min(1, Number(now_ns - started_ns) / limit),
      });
    },
  });
  return recordedWith(recording);
}

/** A recording of which nothing is in files. */
function nothingYet(now_ns: bigint): Recording {
  const rows = Object.fromEntries(STREAMS.map((stream) => [stream, 0])) as Record<StreamName, number>;
  const none = { ledger: [], rows, bytes: 0, rows_after_end: 0, writeError: null, slowest_poll_ms: 0 };
  return { ...none, reason: "killed", begin_ns: now_ns, end_ns: now_ns };
}
