/** The recording of one target: everything is attached, the target goes on, and what comes is kept until it is over. */
import { cpus } from "node:os";
import type { Target } from "../collect/collector.ts";
import type { Collectors } from "../collect/collectors.ts";
import { monotonicNs } from "../kernel/libc.ts";
import { createThermalUse } from "../overhead/thermal-summary.ts";
import type { Progress } from "../report/progress.ts";
import type { RunDirectory } from "../run-directory/run-directory.ts";
import { createProcessUse } from "./process-use.ts";
import { record, type StopReason } from "./recorder.ts";
import { startCollectors, type TracerOptions } from "./start-collectors.ts";
import { createTokenCount } from "./token-count.ts";

export interface RecordRequest {
  readonly options: TracerOptions;
  readonly target: Target;
  readonly directory: RunDirectory;
  readonly collectors: Collectors;
  readonly progress: Progress;
  /** How long the target is expected to work, in ns, for the progress; null where nobody knows. */
  readonly expected_ns: number | null;
  /** Called when everything is attached, just before the recording: lets a target go that was held. */
  readonly begin: () => void;
  /** True once the root is known to have ended; until then an empty tree is not believed. */
  readonly rootEnded: () => boolean;
  /** Ends the recording when it resolves. */
  readonly stopped: Promise<StopReason>;
}

export type Recorded = Awaited<ReturnType<typeof recordTarget>>;

/**
 * Attaches to the target and records its tree until it has ended, or `stopped` or a limit of the options says so.
 * @throws MrmTraceError environment or target, when it cannot be attached to
 */
export async function recordTarget({ options, target, directory, collectors, progress, ...request }: RecordRequest) {
  const use = createProcessUse();
  const thermal = createThermalUse(cpus().length);
  const tokens = createTokenCount();
  // `process` starts last, so that what attaching cost, before the recording, is not taken for a cost of the run.
  const able = await startCollectors(collectors, target);
  const treeEnded = Promise.withResolvers<StopReason>();
  const started_ns = monotonicNs();
  const started_at = new Date();
  request.begin();
  const recording = await record({
    runDir: directory.heldPath,
    collectors: collectors.all,
    starting: target.held,
    stopped: Promise.race([request.stopped, treeEnded.promise]),
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
      if (collectors.tree.hasEnded() && request.rootEnded()) treeEnded.resolve("target_ended");
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
  return {
    recording,
    started_ns,
    started_at,
    use,
    thermal: thermal.summary(),
    tokens,
    target,
    pids: collectors.tree.pids(),
    collectors: able,
  };
}
