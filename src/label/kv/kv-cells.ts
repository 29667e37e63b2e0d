/**
 * Tokens of a cache whose engine says which cells each batch writes: a row lives until its cell is written again or given
 * back, and is read by every later batch of its sequence; the read by the batch that wrote it is not counted.
 */
import { uint32List } from "../../columnar/growing-column.ts";
import { detailOf } from "../../schema/step-detail.ts";
import { isBatch, type StepRow } from "../timeline/step-row.ts";
import type { TokenCounters } from "./kv-token.ts";
import { NO_SPANS } from "./read-spans.ts";
import { type KvEnd, ROW_ENDS } from "./row-ends.ts";

/** Cells from `first` on. */
type CellRange = readonly [first: number, count: number];

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** The cells that a step names; null where it names none, or names what is none. */
export function cellsOf(step: StepRow): readonly CellRange[] | null {
  return rangesIn(detailOf(step).kv_cells);
}

/** Ranges of cells in the detail of a step; null where they are none. */
export function rangesIn(ranges: unknown): readonly CellRange[] | null {
  if (!Array.isArray(ranges)) return null;
  const wellMade = (range: unknown): range is CellRange =>
    Array.isArray(range) && range.length === 2 && isCount(range[0]) && isCount(range[1]);
  return ranges.every(wellMade) ? ranges : null;
}

/** The first `tokens` cells of some ranges, in their order. */
export function cellList(ranges: readonly CellRange[], tokens: number): number[] {
  const cells: number[] = [];
  for (const [first, count] of ranges) {
    for (let i = 0; i < count && cells.length < tokens; i++) cells.push(first + i);
  }
  return cells;
}

interface LiveCell {
  readonly row: number;
  /** Begins of the batches that read it: those of its sequence, or those that name none where its own did not. */
  readonly readers: number[];
  /** Of `readers` those up to its write. */
  readonly before: number;
}

interface Sequence {
  readonly readers: number[];
  /** The number of what its filling has in common. */
  origin: number;
  next: number;
}

/**
 * Rows of the tokens of one engine in one process, in order of their end. `steps` are its own, in order of their begin.
 * @param counters of fillings: a sequence that goes back to an earlier position is another one of that name
 */
export function cellTokens(
  pid: number,
  engine: string | null,
  steps: readonly StepRow[],
  { nextFilling, countToken, columns }: TokenCounters,
): Uint32Array {
  const ended = uint32List();
  const live = new Map<number, LiveCell>();
  const sequences = new Map<number | null, Sequence>();

  function close(cell: number, evict_ns: number | null, end: KvEnd | null): void {
    const there = live.get(cell);
    if (there === undefined) return;
    live.delete(cell);
    const { row, readers, before } = there;
    columns.chain.set(row, columns.spans.add(NO_SPANS, { begins: readers, from: before, until: readers.length }));
    columns.evict_ns.set(row, evict_ns);
    columns.setEnd(row, end);
    ended.push(row);
  }

  const newOrigin = (sequence: number | null): number =>
    columns.addOrigin({ pid, engine, context: null, sequence, filling: nextFilling(), is_written: true });

  function write(step: StepRow, cells: readonly number[]): void {
    const { sequence_id, position_first } = step;
    const sequence = sequences.get(sequence_id) ?? { readers: [], origin: newOrigin(sequence_id), next: 0 };
    sequences.set(sequence_id, sequence);
    if (position_first !== null && position_first < sequence.next) sequence.origin = newOrigin(sequence_id);
    sequence.next = (position_first ?? sequence.next) + cells.length;
    const { readers, origin } = sequence;
    readers.push(step.begin_ns);
    for (const [i, cell] of cells.entries()) {
      const there = live.get(cell);
      if (there !== undefined) columns.setWrites(there.row, "more");
      close(cell, step.begin_ns, ROW_ENDS.written_over);
      const position = sequence_id === null || position_first === null ? null : position_first + i;
      countToken();
      const row = columns.add({ origin, written: step, position, cell });
      if (there !== undefined) columns.setWrites(row, "more");
      live.set(cell, { row, readers, before: readers.length });
    }
  }

  for (const step of steps) {
    const ranges = cellsOf(step);
    if (isBatch(step)) {
      write(step, cellList(ranges ?? [], step.n_tokens ?? 0));
    } else if (step.kind === "kv_clear" || step.kind === "context_free") {
      for (const cell of [...live.keys()]) close(cell, step.begin_ns, ROW_ENDS.cleared);
    } else if (step.kind === "kv_free" && ranges !== null) {
      const given = (cell: number) => ranges.some(([first, count]) => cell >= first && cell < first + count);
      for (const cell of [...live.keys()]) if (given(cell)) close(cell, step.begin_ns, ROW_ENDS.given_out);
    }
  }
  for (const cell of [...live.keys()]) close(cell, null, null);
  return ended.values();
}
