/** What became of a run, from the end of its process and what it left. */
import { EXIT_CODES } from "../errors.ts";
import type { ChildEnd } from "./child.ts";
import type { RunResult } from "./outcome.ts";
import type { PlanEntry } from "./plan.ts";
import { readFigures } from "./run-figures.ts";
import { isComplete, type RunRecord, readRunRecord } from "./run-record.ts";

/** A run that is complete, with its figures; one whose figures cannot be read has failed. */
export function finished(
  entry: PlanEntry,
  seen: {
    readonly status: "complete" | "skipped";
    readonly exit_code: number | null;
    readonly record: RunRecord | null;
  },
): RunResult {
  const { record } = seen;
  try {
    const figures = readFigures(entry.run_dir);
    const why = record?.validity === "contaminated" ? `contaminated: ${record.reasons.join("; ")}` : null;
    return { ...seen, entry, figures, why };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return { ...seen, entry, status: "failed", figures: [], why: `its figures cannot be read: ${why}` };
  }
}

const BY_SIGNAL: readonly number[] = [EXIT_CODES.interrupted, EXIT_CODES.terminated, EXIT_CODES.hangup];

function whyFailed({ exit_code, error, tail }: ChildEnd): string {
  if (error !== null) return `${error.message}; ${error.hint}`;
  if (exit_code === EXIT_CODES.target) return `the target failed: ${tail.split("\n").at(-1) ?? ""}`;
  return exit_code === EXIT_CODES.time_limit ? "the time limit ended it" : `it ended with ${exit_code}`;
}

/** The result of a run that was just made. */
export function resultOf(entry: PlanEntry, end: ChildEnd): RunResult {
  const { exit_code } = end;
  const record = readRunRecord(entry.run_dir);
  const seen = { entry, exit_code, record, figures: [] };
  if (BY_SIGNAL.includes(exit_code)) {
    return { ...seen, status: "interrupted", why: "a signal ended it" };
  }
  if (exit_code === 0 && isComplete(record)) return finished(entry, { status: "complete", exit_code, record });
  return { ...seen, status: "failed", why: whyFailed(end) };
}
