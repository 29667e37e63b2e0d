/** Rows of the step stream as the labels read them: times as ns since the origin of the run. */
import type { DuckDBValue } from "@duckdb/node-api";
import { relativeNs } from "./origin.ts";

export interface StepRow {
  readonly pid: number;
  readonly kind: string;
  readonly begin_ns: number;
  /** Infinity while it had not returned. */
  readonly end_ns: number;
  readonly n_tokens: number | null;
  readonly n_sequences: number | null;
  readonly position_first: number | null;
  readonly sequence_id: number | null;
  readonly result: number | null;
  readonly detail: string | null;
}

function numberOrNull(value: DuckDBValue | undefined): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Step rows in order of their begin. */
export function stepRows(rows: readonly Record<string, DuckDBValue>[], originNs: bigint): StepRow[] {
  const steps = rows.map((row) => ({
    pid: Number(row.pid),
    kind: String(row.kind),
    begin_ns: relativeNs(row.timestamp_ns, originNs) ?? 0,
    end_ns: relativeNs(row.end_ns, originNs) ?? Number.POSITIVE_INFINITY,
    n_tokens: numberOrNull(row.n_tokens),
    n_sequences: numberOrNull(row.n_sequences),
    position_first: numberOrNull(row.position_first),
    sequence_id: numberOrNull(row.sequence_id),
    result: numberOrNull(row.result),
    detail: row.detail === null || row.detail === undefined ? null : String(row.detail),
  }));
  return steps.sort((left, right) => left.begin_ns - right.begin_ns);
}

/** True for a batch of prompt tokens: more tokens than sequences, or more than one where sequences are not known. */
export function isPrefill(step: StepRow): boolean {
  return (step.n_tokens ?? 1) > (step.n_sequences ?? 1);
}

/** True for a decode call that the engine carried out: other results than 0 say that it placed nothing. */
export function isBatch(step: StepRow): boolean {
  return step.kind === "decode" && (step.n_tokens ?? 0) > 0 && (step.result === null || step.result === 0);
}
