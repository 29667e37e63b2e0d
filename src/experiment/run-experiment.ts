/** The runs of an experiment, one after another; one that fails lets the others go on. */
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { reasonOf, type StopSignal } from "../record/signals.ts";
import { lockFolder } from "../run-directory/folder-lock.ts";
import { makerOf } from "../target/results-maker.ts";
import { formatBytes } from "../units.ts";
import { startChild } from "./child.ts";
import type { RunResult } from "./outcome.ts";
import { earlierRuns, freeBytes, type Plan, type PlanEntry } from "./plan.ts";
import { predict } from "./predict.ts";
import { requestOf } from "./run-request.ts";
import { finished, resultOf } from "./run-result.ts";

export interface SweepRequest {
  readonly plan: Plan;
  /** Skip what is complete; what is cut, stopped or failed is made again. */
  readonly resume: boolean;
  /** The first signal that came; null while none has. */
  readonly stopped: () => StopSignal | null;
  /** Hands a signal to what runs now. */
  readonly onSignal: (act: (signal: StopSignal) => void) => void;
  readonly onStart: (entry: PlanEntry, index: number) => void;
  readonly onEnd: (result: RunResult, index: number) => void;
  /** Gets what the runs write on stderr. */
  readonly echo: (text: string) => void;
}

export interface SweepOutcome {
  readonly results: readonly RunResult[];
  /** 0; 1 where any run failed; 130 or 143 where a signal stopped the rest. */
  readonly exitCode: number;
}

const RESUME = "add --resume";

/** @throws MrmTraceError usage where runs are there and neither --resume nor --force says what becomes of them */
function refuseTaken({ entries, experiment }: Plan, resume: boolean): void {
  const taken = entries.filter(({ state }) => state !== "absent");
  const [first] = taken;
  if (first === undefined || resume || experiment.run.force) return;
  throw new MrmTraceError(
    "usage",
    `${taken.length} of ${entries.length} runs are there already, such as ${first.run_dir}`,
    `${RESUME} to skip those that are complete, or --force to replace all, or give another --output`,
  );
}

/** Why what is left would not fit; null where it will, as far as is known. */
function fullDisk(output: string, needed_bytes: number, left: number): MrmTraceError | null {
  const free_bytes = freeBytes(output);
  if (needed_bytes <= free_bytes) return null;
  return new MrmTraceError(
    "environment",
    `${left} ${left === 1 ? "run" : "runs"} will take about ${formatBytes(needed_bytes)} in ${output}, where ${formatBytes(free_bytes)} are free`,
    "free space there, give another --output, or make the sweep smaller; mrm-trace plan shows each run",
  );
}

function neverRan(entry: PlanEntry, why: string | null): RunResult {
  return { entry, status: "not_run", exit_code: null, record: null, figures: [], why };
}

/**
 * Makes the runs of a plan. What becomes impossible between runs leaves the rest as not run.
 * @throws MrmTraceError usage where runs are there already or another experiment runs in the folder, environment where the
 *   disk would fill, or where the machine lets the first run not start: then no other would
 */
export async function runExperiment(request: SweepRequest): Promise<SweepOutcome> {
  const { plan, resume, stopped } = request;
  const { experiment, entries, totals } = plan;
  const { output } = experiment.run;
  refuseTaken(plan, resume);
  const isOpen = (entry: PlanEntry): boolean => !(resume && entry.state === "complete");
  const full = fullDisk(output, totals.known_disk_bytes, entries.filter(isOpen).length);
  if (full !== null) throw full;
  const { as } = makerOf(output);
  const words = { busy: "another experiment runs in", instead: "give another folder with --output" };
  using _lock = lockFolder(output, words, as);
  let current: { signal(signal: StopSignal): void } | null = null;
  request.onSignal((signal) => current?.signal(signal));
  const results: RunResult[] = [];
  let halted: MrmTraceError | null = null;
  for (const [index, entry] of entries.entries()) {
    if (!isOpen(entry)) {
      results.push(as(() => finished(entry, { status: "skipped", exit_code: null, record: entry.record })));
      continue;
    }
    // What ran since the plan was made tells how large the next one is.
    const next =
      entry.prediction ??
      predict(
        entry.planned,
        as(() => earlierRuns(output)),
      );
    halted ??= fullDisk(output, next?.disk_bytes ?? 0, 1);
    if (halted !== null || stopped() !== null) {
      results.push(neverRan(entry, halted === null ? null : `${halted.message}; ${halted.hint}`));
      continue;
    }
    request.onStart(entry, index);
    const child = startChild(requestOf(experiment, entry.planned, entry.state !== "absent"), request.echo);
    current = child;
    const end = await child.ended;
    current = null;
    const isFirst = results.every(({ status }) => status === "skipped");
    if (end.error?.code === "environment" && isFirst && stopped() === null) {
      throw new MrmTraceError("environment", end.error.message, end.error.hint);
    }
    // By now the run is the user's.
    const result = as(() => resultOf(entry, end));
    results.push(result);
    request.onEnd(result, index);
  }
  return { results, exitCode: exitCodeOf(results, stopped(), halted) };
}

function exitCodeOf(results: readonly RunResult[], signal: StopSignal | null, halted: MrmTraceError | null): number {
  if (signal !== null) return EXIT_CODES[reasonOf(signal)];
  if (halted !== null) return halted.exitCode;
  // A run alone may have been told to stop.
  const isWhole = results.every(({ status }) => status === "complete" || status === "skipped");
  return isWhole ? EXIT_CODES.ok : EXIT_CODES.failure;
}
