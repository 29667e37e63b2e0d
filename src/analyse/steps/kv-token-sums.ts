/** KV rows by the engine's steps, summed per token: bytes written, read and filled. */
import { firstIndex } from "../../statistics/first-index.ts";
import type { KvRowSample, StepSample } from "../input/input.ts";
import type { Span } from "../input/span.ts";

/** One entry per step of the span, in order of time. */
export interface KvTokens {
  readonly written_bytes: Float64Array;
  readonly read_bytes: Float64Array;
  /** Bytes of the rows that were written and not yet evicted when the step began. */
  readonly filled_bytes: Float64Array;
  readonly tokens: Float64Array;
}

/** Index of the first begin > time. */
function after(begins: Float64Array, time: number): number {
  return firstIndex(begins.length, (i) => (begins[i] ?? 0) <= time);
}

/**
 * A row's write belongs to the step in which it happened. Its reads are spread evenly over the steps from its write to
 * its last read, which is when the engine reads it: once per step. A row that was there before the first step counts with
 * its bytes and its reads.
 */
export function kvTokens(rows: readonly KvRowSample[], steps: readonly StepSample[], span: Span): KvTokens {
  const all = steps.filter((s) => Number.isFinite(s.begin_ns)).sort((a, b) => a.begin_ns - b.begin_ns);
  const begins = Float64Array.from(all, (s) => s.begin_ns);
  const n = all.length;
  const written = new Float64Array(n);
  const read = new Float64Array(n + 1);
  const filled = new Float64Array(n + 1);
  const add = (sums: Float64Array, i: number, x: number): void => {
    sums[i] = (sums[i] ?? 0) + x;
  };
  for (const row of rows) {
    // A row that was there is read by the first batch already, and is not written by it.
    const w = Math.max(0, after(begins, row.write_ns) - (row.is_written ? 0 : 1));
    if (row.is_written && w > 0) add(written, w - 1, row.size_bytes);
    const end = Number.isNaN(row.evict_ns) ? n : after(begins, row.evict_ns);
    add(filled, w, row.size_bytes);
    add(filled, Math.max(w, end), -row.size_bytes);
    if (Number.isNaN(row.last_read_ns) || row.total_reads <= 0) continue;
    const last = Math.max(w, after(begins, row.last_read_ns));
    const from = last > w ? w : Math.max(0, w - 1);
    const each = (row.total_reads * row.size_bytes) / Math.max(1, last - from);
    add(read, from, each);
    add(read, Math.max(last, from + 1), -each);
  }
  for (let i = 1; i <= n; i++) {
    add(read, i, read[i - 1] ?? 0);
    add(filled, i, filled[i - 1] ?? 0);
  }
  const mine = all.flatMap((s, i) => (span.step === "all" || s.step === span.step ? [i] : []));
  return {
    written_bytes: Float64Array.from(mine, (i) => written[i] ?? 0),
    read_bytes: Float64Array.from(mine, (i) => Math.max(0, read[i] ?? 0)),
    filled_bytes: Float64Array.from(mine, (i) => Math.max(0, filled[i] ?? 0)),
    tokens: Float64Array.from(mine, (i) => Math.max(1, all[i]?.n_tokens ?? 1)),
  };
}
