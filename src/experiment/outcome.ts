/** What became of each run of an experiment. */
import type { PlanEntry } from "./plan.ts";
import type { RunFigure } from "./run-figures.ts";
import type { RunRecord } from "./run-record.ts";

export const RUN_STATUSES = ["complete", "skipped", "failed", "interrupted", "not_run"] as const;
/** `skipped`: it was complete before. */
export type RunStatus = (typeof RUN_STATUSES)[number];

export interface RunResult {
  readonly entry: PlanEntry;
  readonly status: RunStatus;
  /** Of the process that ran it; null where none did. */
  readonly exit_code: number | null;
  /** Null where nothing sealed was left. */
  readonly record: RunRecord | null;
  readonly figures: readonly RunFigure[];
  /** Why it failed, or is kept out of aggregates; null where nothing is to say. */
  readonly why: string | null;
}

/** True where a run counts: complete, no warm-up, not contaminated. */
export function isUsed({ status, entry, record }: RunResult): boolean {
  const isDone = status === "complete" || status === "skipped";
  return isDone && !entry.planned.is_warmup && record !== null && record.validity !== "contaminated";
}
