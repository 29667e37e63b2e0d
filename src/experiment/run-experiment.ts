/** The runs of an experiment, one after another; one that fails lets the others go on. */
import { EXIT_CODES, MrmTraceError } from "../errors.ts";
import { type Database, openDatabase } from "../label/database.ts";
import type { StopSignal } from "../run/signals.ts";
import { formatBytes } from "../units.ts";
import { type ChildEnd, startChild } from "./child.ts";
import type { RunResult } from "./outcome.ts";
import { earlierRuns, freeBytes, type Plan, type PlanEntry } from "./plan.ts";
import { predict } from "./predict.ts";
import { readFigures } from "./run-figures.ts";
import { isComplete, type RunRecord, readRunRecord } from "./run-record.ts";
import { requestOf } from "./run-request.ts";

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

/** @throws MrmTraceError environment where what is left would not fit */
function refuseFullDisk(output: string, needed_bytes: number, left: number): void {
  const free_bytes = freeBytes(output);
  if (needed_bytes <= free_bytes) return;
  throw new MrmTraceError(
    "environment",
    `${left} runs will take about ${formatBytes(needed_bytes)} in ${output}, where ${formatBytes(free_bytes)} are free`,
    "free space there, give another --output, or make the sweep smaller; mrm-trace plan shows each run",
  );
}

function neverRan(entry: PlanEntry): RunResult {
  return { entry, status: "not_run", exit_code: null, record: null, figures: [], why: null };
}

/** A run that is complete, with its figures; one whose figures cannot be read has failed. */
async function finished(
  database: Database,
  entry: PlanEntry,
  seen: {
    readonly status: "complete" | "skipped";
    readonly exit_code: number | null;
    readonly record: RunRecord | null;
  },
): Promise<RunResult> {
  const { record } = seen;
  try {
    const figures = await readFigures(database, entry.run_dir);
    const why = record?.validity === "contaminated" ? `contaminated: ${record.reasons.join("; ")}` : null;
    return { ...seen, entry, figures, why };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return { ...seen, entry, status: "failed", figures: [], why: `its figures cannot be read: ${why}` };
  }
}

function whyFailed({ exit_code, error, tail }: ChildEnd): string {
  if (error !== null) return `${error.message}; ${error.hint}`;
  if (exit_code === EXIT_CODES.target) return `the target failed: ${tail.split("\n").at(-1) ?? ""}`;
  return exit_code === EXIT_CODES.time_limit ? "the time limit ended it" : `it ended with ${exit_code}`;
}

async function resultOf(database: Database, entry: PlanEntry, end: ChildEnd): Promise<RunResult> {
  const { exit_code } = end;
  const record = readRunRecord(entry.run_dir);
  const seen = { entry, exit_code, record, figures: [] };
  if (exit_code === EXIT_CODES.interrupted || exit_code === EXIT_CODES.terminated) {
    return { ...seen, status: "interrupted", why: "a signal ended it" };
  }
  if (exit_code === 0 && isComplete(record))
    return finished(database, entry, { status: "complete", exit_code, record });
  return { ...seen, status: "failed", why: whyFailed(end) };
}

/**
 * Makes the runs of a plan.
 * @throws MrmTraceError usage where runs are there already, environment where the disk would fill, or where the machine
 *   lets no run start: then no other would
 */
export async function runExperiment(request: SweepRequest): Promise<SweepOutcome> {
  const { plan, resume, stopped } = request;
  const { experiment, entries, totals } = plan;
  const { output } = experiment.run;
  refuseTaken(plan, resume);
  const isOpen = (entry: PlanEntry): boolean => !(resume && entry.state === "complete");
  const open = entries.filter(isOpen).length;
  refuseFullDisk(output, totals.known_disk_bytes, open);
  let current: { signal(signal: StopSignal): void } | null = null;
  request.onSignal((signal) => current?.signal(signal));
  await using database = await openDatabase();
  const skip = (entry: PlanEntry): Promise<RunResult> =>
    finished(database, entry, { status: "skipped", exit_code: null, record: entry.record });
  const results: RunResult[] = [];
  for (const [index, entry] of entries.entries()) {
    if (stopped() !== null) {
      results.push(isOpen(entry) ? neverRan(entry) : await skip(entry));
      continue;
    }
    if (!isOpen(entry)) {
      const result = await skip(entry);
      results.push(result);
      request.onEnd(result, index);
      continue;
    }
    // What ran since the plan was made tells how large the next one is.
    const next = entry.prediction ?? predict(entry.planned, earlierRuns(output));
    refuseFullDisk(output, next?.disk_bytes ?? 0, 1);
    request.onStart(entry, index);
    const child = startChild(requestOf(experiment, entry.planned, entry.state !== "absent"), request.echo);
    current = child;
    const end = await child.ended;
    current = null;
    const isFirst = !results.some(({ status }) => status === "complete");
    if (end.error?.code === "environment" && isFirst && stopped() === null) {
      throw new MrmTraceError("environment", end.error.message, end.error.hint);
    }
    const result = await resultOf(database, entry, end);
    results.push(result);
    request.onEnd(result, index);
  }
  return { results, exitCode: exitCodeOf(results, stopped()) };
}

function exitCodeOf(results: readonly RunResult[], signal: StopSignal | null): number {
  if (signal !== null) return signal === "SIGINT" ? EXIT_CODES.interrupted : EXIT_CODES.terminated;
  // A run alone may have been told to stop.
  const isWhole = results.every(({ status }) => status === "complete" || status === "skipped");
  return isWhole ? EXIT_CODES.ok : EXIT_CODES.failure;
}
