/** KV rows by the engine's steps, summed per step: bytes that it wrote and needed. */
import { collectAround } from "../../columnar/collect-after.ts";
import { everyRow } from "../../columnar/keys/number-order.ts";
import { countUpTo } from "../../statistics/first-index.ts";
import type { KvRowSamples, StepSample } from "../input/input.ts";
import type { Span } from "../input/span.ts";
import { rowNeeds } from "./row-needs.ts";

/** One entry per step of the span, in order of time. */
export interface KvStepSums {
  readonly written_bytes: Float64Array;
  readonly needed_bytes: Float64Array;
  readonly tokens: Float64Array;
  /** Tokens of batches that had not returned at the end, which are no entry: how many of their rows were written is not known. */
  readonly cut_tokens: number;
  /**
   * True where rows came back from what the engine had saved: no step wrote them, and of those that it gave up again before a step
   * had them nobody tells.
   */
  readonly isRestored: boolean;
}

/** Index of the first begin > time. */
const after = countUpTo;

/**
 * A row's write belongs to the step in which it happened, each need to the step that had it: where these are not told they are
 * spread evenly from its write to the last of them. A row that was there before the first step counts with its needs. Of
 * rows that sequences may share no more count than are there whatever they share.
 */
export function kvStepSums(rows: KvRowSamples, steps: readonly StepSample[], span: Span): KvStepSums {
  // What the sums of another span left behind is as large as what these need.
  collectAround(2 * (rows.length + steps.length));
  const isMine = ({ step }: StepSample): boolean => span.step === "all" || step === span.step;
  const began = steps.filter((s) => Number.isFinite(s.begin_ns)).sort((a, b) => a.begin_ns - b.begin_ns);
  const all = began.filter((s) => s.is_cut !== true);
  const begins = Float64Array.from(all, (s) => s.begin_ns);
  const n = all.length;
  const written = new Float64Array(n);
  const needed = new Float64Array(n + 1);
  const add = (sums: Float64Array, i: number, x: number): void => {
    sums[i] = (sums[i] ?? 0) + x;
  };
  const needs = rowNeeds();
  /** Bytes that came back at once and that sequences may share, by sequence. */
  const shared = new Map<string, { readonly step: number; readonly bytes: Map<number, number> }>();
  let isRestored = false;
  for (const row of rows) {
    // A row that was there is needed by the first batch already, and is not written by it.
    const w = Math.max(0, after(begins, row.write_ns) - (row.is_written ? 0 : 1));
    if (row.is_written && w > 0) {
      if (row.may_share === undefined) add(written, w - 1, row.size_bytes);
      else {
        const came = shared.get(row.may_share) ?? { step: w - 1, bytes: new Map<number, number>() };
        shared.set(row.may_share, came);
        came.bytes.set(row.filling, (came.bytes.get(row.filling) ?? 0) + row.size_bytes);
      }
      // Steps write while they go on; what comes back does between two of them.
      if (row.write_ns > (all[w - 1]?.end_ns ?? Number.POSITIVE_INFINITY)) isRestored = true;
    }
    if (Number.isNaN(row.last_read_ns) || row.total_reads <= 0) continue;
    if (row.needs !== undefined) {
      needs.note(row);
      continue;
    }
    const last = Math.max(w, after(begins, row.last_read_ns));
    const from = last > w ? w : Math.max(0, w - 1);
    const each = (row.total_reads * row.size_bytes) / Math.max(1, last - from);
    add(needed, from, each);
    add(needed, Math.max(last, from + 1), -each);
  }
  for (let i = 1; i <= n; i++) add(needed, i, needed[i - 1] ?? 0);
  needs.eachNeed((begin_ns, bytes) => {
    const step = after(begins, begin_ns) - 1;
    // What a step needed that is none of these is not theirs.
    if (step >= 0) add(needed, step, bytes);
  });
  // Whatever they share, there were as many as of the sequence that has most.
  for (const { step, bytes } of shared.values()) add(written, step, Math.max(...bytes.values()));
  const mine = everyRow(n).filter((i) => all[i] !== undefined && isMine(all[i]));
  return {
    written_bytes: Float64Array.from(mine, (i) => written[i] ?? 0),
    needed_bytes: Float64Array.from(mine, (i) => Math.max(0, needed[i] ?? 0)),
    tokens: Float64Array.from(mine, (i) => (all[i]?.is_guess ? 0 : Math.max(1, all[i]?.n_tokens ?? 1))),
    cut_tokens: began.reduce((sum, s) => sum + (s.is_cut && isMine(s) ? s.n_tokens : 0), 0),
    isRestored,
  };
}
