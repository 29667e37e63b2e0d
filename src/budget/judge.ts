/** Whether a figure keeps a limit: with its whole interval, not at all, or it cannot be told. */
import type { BudgetVerdict } from "../schema/budget-check.ts";
import type { MetricStatus } from "../schema/words.ts";

export interface Judged {
  readonly status: MetricStatus;
  readonly value: number | null;
  readonly lo: number | null;
  readonly hi: number | null;
}

export interface Ends {
  readonly min: number | null;
  readonly max: number | null;
}

/** A figure without an interval is a count, and is its own ends. */
export function judge({ status, value, lo, hi }: Judged, { min, max }: Ends): BudgetVerdict {
  if (status === "insufficient" || status === "not_identifiable") return "open";
  const isCount = lo === null && hi === null;
  const [least, most] = isCount ? [value, value] : [lo, hi];
  if (max !== null && least !== null && least > max) return "beyond";
  if (min !== null && most !== null && most < min) return "beyond";
  const keepsMax = max === null || (most !== null && most <= max);
  const keepsMin = min === null || (least !== null && least >= min);
  return keepsMax && keepsMin ? "within" : "open";
}

/** One word for several: what is beyond goes before what is open. */
export function worst(verdicts: readonly BudgetVerdict[]): BudgetVerdict {
  if (verdicts.includes("beyond")) return "beyond";
  return verdicts.includes("open") ? "open" : "within";
}
