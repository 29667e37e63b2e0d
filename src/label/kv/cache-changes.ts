/** What may happen to the rows of one context's KV cache, and what is known of that cache. */
import type { StepRow } from "../timeline/step-row.ts";
import type { TokenCounters } from "./kv-token.ts";
import type { Positions, RowRun } from "./positions.ts";

export interface SequenceCache {
  /** @param cells of its tokens in the order of the runs; null where they are not told */
  batch(step: StepRow, runs: readonly RowRun[], cells: readonly number[] | null): void;
  /** A sequence loses rows; null: every sequence. */
  trim(step: StepRow, sequence: number | null, positions: Positions): void;
  /** A sequence has rows of another one too; in a cache that is split by sequence it gets copies, instead of what it had. */
  copy(step: StepRow, from: number, sequence: number, positions: Positions): void;
  /** Of the rows that share its cells a sequence alone keeps its own. */
  keep(step: StepRow, sequence: number): void;
  /** What some cells hold leaves, whoever has it. @param left_prefix_cache whether it could be found by its prefix until then */
  free(
    step: StepRow,
    cells: readonly (readonly [first: number, count: number])[],
    left_prefix_cache: boolean | null,
  ): void;
  /** Rows move to other positions; those that come before the first leave. */
  move(step: StepRow, sequence: number | null, positions: Positions, moved: (position: number) => number): void;
  /** What was saved comes back, instead of what was there. */
  restore(step: StepRow, sequence: number | null): void;
  /** The cache was made or emptied: nothing is in it that was not told. */
  empty(step: StepRow): void;
  /** False where a sequence has rows of another one, and nobody knows which these were. */
  isSure(): boolean;
  /** False where there were rows that nobody told of, and positions do not say how many. */
  isCounted(): boolean;
  /** Every row that was seen, by its number in the columns, in order of its end; those that live have none. */
  finish(): Uint32Array;
}

export interface CacheName extends TokenCounters {
  readonly pid: number;
  readonly engine: string | null;
  readonly context: string | null;
  /** Cells that each sequence has for itself, in their order; null where all share the cells. */
  readonly streamCells: number | null;
  /** The engine names the cells of its batches: none is concluded from positions. */
  readonly tellsCells: boolean;
  /** The engine may move rows to other cells, once they are not in order any more. */
  readonly mayMove: boolean;
  /** A row at position p is needed by those up to p + window - 1: infinite but for layers that look back over a window. */
  readonly window: number;
  /** Set where its layers are those that look back over a window, or the others. */
  readonly in_window?: boolean;
}

/** A name for what came into a cache at one time and its sequences may share; null where each has cells of its own. */
export function nameOfLoad(
  { pid, engine, context, window, streamCells }: CacheName,
  since: StepRow | "start",
): string | null {
  if (streamCells !== null) return null;
  return [pid, engine ?? "", context ?? "", window, since === "start" ? since : since.begin_ns].join("/");
}
