/**
 * The rows of one context's KV cache by sequence: which batch wrote each, which later batches read it, what evicted it.
 *
 * A batch appends one row per token to the sequences of that token, and attention runs over the rows of the sequences in
 * the batch: each of them is read once by each such batch; the read by the batch that wrote it is not counted. A row that
 * several sequences share lives while one of them has it. Times are the begins of the batches: a row is written and read
 * at the same offset in each, so that their difference is its age. Where the first batch that was seen continues a
 * sequence, the rows before it were there: of their life only the reads and the end are known.
 */
import type { StepRow } from "../timeline/step-row.ts";
import { type CacheName, nameOfLoad, type SequenceCache } from "./cache-changes.ts";
import { cellOrder } from "./cell-order.ts";
import { type KvToken, type ReadSpan, type RowWrites, readsIn, SHARED_WITH_NONE } from "./kv-token.ts";
import { ALL_POSITIONS, type Positions } from "./positions.ts";
import { givenOut, type KvEnd, ROW_ENDS } from "./row-ends.ts";
import { neededFrom, type Readers, readersBySequence } from "./row-readers.ts";
import { sharedLists } from "./shared-lists.ts";

interface LiveRow {
  readonly written: StepRow;
  readonly is_written: boolean;
  readonly sequence: number;
  readonly filling: number;
  readonly first_position: number;
  readonly cell: number | null;
  position: number;
  writes: RowWrites;
  readers: Readers;
  /** Place in `readers.begins` from which on the row was read by these. */
  from: number;
  readonly earlier: ReadSpan[];
  /** When a batch came that was past its window, and none since that was not; null in its window. */
  passed_ns: number | null;
  shared_with: readonly number[];
  readonly may_share: string | null;
}

type WrittenAs = Partial<Pick<LiveRow, "is_written" | "cell" | "may_share">>;

interface Sequence {
  readonly id: number;
  rows: LiveRow[];
  /** Null before its first write, and after it was emptied. */
  filling: number | null;
  /** When rows were last cut from its end. */
  cut_ns: number;
  lastBatch: StepRow | null;
  /** The step since which the sequence holds rows that nobody told of; null where all are known. */
  unseen: StepRow | "start" | null;
  /** Where its next batch begins, if those that it was given by one of which not all rows are known were there. */
  due: number | null;
}

/** A cache of which nothing is known yet. */
export function sequenceCache(name: CacheName): SequenceCache {
  const { pid, engine, context, streamCells, tellsCells, mayMove, window, nextFilling, countToken } = name;
  const ended: KvToken[] = [];
  const sequences = new Map<number, Sequence>();
  /** The live rows of which the engine named the cell. */
  const holders = new Map<number, LiveRow>();
  const readers = readersBySequence();
  /** What a sequence holds that was never heard of. */
  let unseen: Sequence["unseen"] = "start";
  const order = cellOrder(mayMove);
  let isSure = true;
  /** Rows were there that nobody told of, as many as positions; and several rows of a sequence have one position. */
  let hasUnseen = false;
  let repeats = false;
  const sharedWith = sharedLists();
  /** The last that was noted for a row. */
  let lastSpan: ReadSpan | null = null;

  function sequenceOf(id: number): Sequence {
    let sequence = sequences.get(id);
    if (sequence === undefined) {
      sequence = { id, rows: [], filling: null, cut_ns: Number.NEGATIVE_INFINITY, lastBatch: null, unseen, due: null };
      sequences.set(id, sequence);
    }
    return sequence;
  }

  /** Counts the batches that needed the row until now. */
  function settle(row: LiveRow): void {
    if (row.readers.begins.length === row.from) return;
    const { spans, passed_ns } = neededFrom(row.readers, row.from, row.position + window - 1);
    // Rows that are shared alike were read by the same batches.
    const [span] = spans;
    const isAlike = spans.length === 1 && span?.begins === lastSpan?.begins && span?.from === lastSpan?.from;
    if (isAlike && span?.until === lastSpan?.until && lastSpan !== null) row.earlier.push(lastSpan);
    else row.earlier.push(...spans);
    lastSpan = row.earlier.at(-1) ?? null;
    row.passed_ns = passed_ns;
    row.from = row.readers.begins.length;
  }

  function close(row: LiveRow, evict_ns: number | null, how: KvEnd | null): void {
    if (row.cell !== null && holders.get(row.cell) === row) holders.delete(row.cell);
    settle(row);
    readers.release(row.readers);
    const reads = row.earlier;
    ended.push({
      pid,
      engine,
      context,
      sequence: row.sequence,
      filling: row.filling,
      position: row.first_position,
      cell: row.cell,
      write_ns: row.written.begin_ns,
      is_written: row.is_written,
      written_by_ns: row.written.end_ns,
      writes: row.writes,
      reads,
      ...readsIn(reads),
      evict_ns: row.passed_ns ?? evict_ns,
      end: row.passed_ns === null ? how : ROW_ENDS.trimmed,
      shared_with: row.shared_with,
      ...(row.may_share === null ? {} : { may_share: row.may_share }),
      requests: null,
    });
  }

  /** From now on the row is that of other sequences. */
  function giveTo(row: LiveRow, owners: Readers): void {
    settle(row);
    readers.hold(owners);
    readers.release(row.readers);
    row.readers = owners;
    row.from = owners.begins.length;
  }

  function leave(row: LiveRow, id: number, time_ns: number, how: KvEnd): void {
    const rest = readers.without(row.readers, id);
    if (rest === null) close(row, time_ns, how);
    else giveTo(row, rest);
  }

  function trimOne(step: StepRow, sequence: Sequence, { from, to: end }: Positions, how: KvEnd): void {
    const isWhole = from <= 0 && end === Number.POSITIVE_INFINITY;
    if (isWhole) Object.assign(sequence, { unseen: null, due: null });
    let older = false;
    /** Of the rows since the last cut those that stay, less those that go. */
    let staying = 0;
    const kept: LiveRow[] = [];
    for (const row of sequence.rows) {
      const isNew = row.written.begin_ns >= sequence.cut_ns ? 1 : 0;
      if (row.position < from || row.position >= end) {
        kept.push(row);
        staying += isNew;
        continue;
      }
      staying -= isNew;
      older ||= row.written !== sequence.lastBatch;
      leave(row, sequence.id, step.begin_ns, how);
    }
    sequence.rows = kept;
    // A stretch that was taken from its midst before may lie in front of where it is cut.
    if (sequence.due !== null) sequence.due = Math.min(sequence.due, 1 + (kept.at(-1)?.position ?? -1));
    if (end !== Number.POSITIVE_INFINITY && (kept.at(-1)?.position ?? -1) >= end) order.leave();
    // What was guessed ahead and given up in the next step goes on, and a chat of which less than half of a turn is cut; a rest begins anew.
    if (isWhole || (older && end === Number.POSITIVE_INFINITY)) {
      if (isWhole || staying <= 0) sequence.filling = null;
      sequence.cut_ns = step.begin_ns;
    }
  }

  function named(id: number | null): Sequence[] {
    return id === null ? [...sequences.values()] : [sequenceOf(id)];
  }

  function write(
    step: StepRow,
    sequence: Sequence,
    owners: readonly number[],
    position: number,
    { is_written = true, cell = null, may_share = null }: WrittenAs = {},
  ): LiveRow {
    countToken();
    sequence.filling ??= nextFilling(`${step.begin_ns}/${sequence.id}`);
    const found = readers.of(owners);
    readers.hold(found);
    const row: LiveRow = {
      written: step,
      is_written,
      sequence: sequence.id,
      filling: sequence.filling,
      first_position: position,
      cell: tellsCells ? cell : order.isLinear() ? position : null,
      position,
      writes: "once",
      readers: found,
      from: found.begins.length,
      earlier: [],
      passed_ns: null,
      shared_with: owners.length > 1 ? owners.slice(1) : SHARED_WITH_NONE,
      may_share,
    };
    if (cell !== null) {
      if (takeCell(step, cell)) row.writes = "more";
      holders.set(cell, row);
    }
    return row;
  }

  /** What is in some cells ends, whoever has it. @returns what that was */
  function takeCells(step: StepRow, cells: Iterable<number>, how: KvEnd): readonly LiveRow[] {
    const gone = new Set([...cells].flatMap((cell) => holders.get(cell) ?? []));
    const losing = new Set([...gone].flatMap(({ readers: { owners } }) => owners));
    for (const row of gone) close(row, step.begin_ns, how);
    for (const id of losing) {
      const sequence = sequenceOf(id);
      sequence.rows = sequence.rows.filter((row) => !gone.has(row));
    }
    return [...gone];
  }

  /** What is in a cell ends when it is written again. @returns true where something was there that was not past its window */
  function takeCell(step: StepRow, cell: number): boolean {
    const there = holders.get(cell);
    if (there === undefined) return false;
    settle(there);
    const isNeeded = there.passed_ns === null;
    if (isNeeded) there.writes = "more";
    takeCells(step, [cell], ROW_ENDS.written_over);
    return isNeeded;
  }

  /** Its rows from a position on are written over, but for those that others have too. @returns their positions */
  function writeOver({ rows }: Sequence, from: number): Set<number> {
    const positions = new Set<number>();
    for (const row of rows) {
      if (row.position < from || row.readers.owners.length > 1) continue;
      row.writes = "more";
      positions.add(row.position);
    }
    return positions;
  }

  /** Rows in front of a batch that nobody told of: they were there, or came back when the cache was restored. */
  function addUnseen(step: StepRow, sequence: Sequence, position: number): void {
    const since = sequence.unseen;
    if (since === null) return;
    // A state of one sequence came back for it alone, a state of all with what they shared.
    const may_share = since === unseen ? nameOfLoad(name, since) : null;
    // It may have some of another sequence since.
    const there = new Set(sequence.rows.map((row) => row.position));
    for (let i = Math.max(0, position - window + 1); i < position; i++) {
      if (there.has(i)) continue;
      const row = write(since === "start" ? step : since, sequence, [sequence.id], i, {
        is_written: since !== "start",
        may_share,
      });
      sequence.rows.push(row);
      hasUnseen = true;
    }
  }

  return {
    batch(step, runs, cells) {
      const inBatch = new Map<number, number>();
      const writtenOver = new Map<Sequence, Set<number>>();
      for (const run of runs) {
        for (const id of run.sequences) inBatch.set(id, Math.min(run.position, inBatch.get(id) ?? run.position));
      }
      if (inBatch.size > 1 || !inBatch.has(0)) order.leave();
      for (const [id, position] of inBatch) {
        const sequence = sequenceOf(id);
        addUnseen(step, sequence, position);
        sequence.unseen = null;
        isSure &&= sequence.due === null || sequence.due === position;
        sequence.due = null;
        // A batch that goes back writes over what is there.
        if (position < (sequence.rows.at(-1)?.position ?? -1)) {
          writtenOver.set(sequence, writeOver(sequence, position));
          trimOne(step, sequence, { from: position, to: Number.POSITIVE_INFINITY }, ROW_ENDS.written_over);
        }
        sequence.lastBatch = step;
      }
      // Who has a row is known by now: it is read once.
      for (const [id, position] of inBatch) readers.note(id, position, step.begin_ns);
      let token = 0;
      for (const { sequences: owners, position, tokens } of runs) {
        const all = owners.map(sequenceOf);
        const [writer] = all;
        if (writer === undefined) continue;
        const before = writer.rows.at(-1)?.position ?? -1;
        order.follow(position, before);
        repeats ||= position === before;
        for (let i = 0; i < tokens; i++, token++) {
          const row = write(step, writer, owners, position + i, { cell: cells?.[token] ?? null });
          if (writtenOver.get(writer)?.has(row.position)) row.writes = "more";
          for (const sequence of all) sequence.rows.push(row);
        }
      }
    },
    trim(step, id, positions) {
      for (const sequence of named(id)) trimOne(step, sequence, positions, ROW_ENDS.trimmed);
      if (id === null && positions.from <= 0 && positions.to === Number.POSITIVE_INFINITY) unseen = null;
    },
    copy(step, from, id, { from: first, to: end }) {
      if (from === id) return;
      const source = sequenceOf(from);
      const sequence = sequenceOf(id);
      const isBounded = end !== Number.POSITIVE_INFINITY && first <= 0 && window === Number.POSITIVE_INFINITY;
      const isPartUnseen = source.unseen !== null;
      if (isPartUnseen && isBounded) addUnseen(step, source, end);
      else isSure &&= !isPartUnseen;
      order.leave();
      const writtenOver = streamCells === null ? null : writeOver(sequence, 0);
      if (streamCells !== null) trimOne(step, sequence, ALL_POSITIONS, ROW_ENDS.replaced);
      const behind = 1 + (sequence.rows.at(-1)?.position ?? -1);
      /** Those of the last row, of which the sequence is none. */
      let apart: Readers | null = null;
      for (const row of source.rows) {
        if (row.position < first || row.position >= end) continue;
        if (row.readers !== apart && row.readers.owners.includes(id)) continue;
        apart = row.readers;
        if (streamCells !== null) {
          // A copy has the same place among the cells of its sequence.
          const cell = tellsCells && row.cell !== null ? (row.cell % streamCells) + id * streamCells : null;
          const copied = write(step, sequence, [id], row.position, { cell });
          if (writtenOver?.has(row.position)) copied.writes = "more";
          sequence.rows.push(copied);
          continue;
        }
        giveTo(row, readers.together(row.readers, id));
        if (row.sequence !== id) row.shared_with = sharedWith(row.shared_with, id);
        sequence.rows.push(row);
      }
      if (isPartUnseen) sequence.due = Math.max(end, behind);
    },
    free(step, cells, left_prefix_cache) {
      const how = givenOut(left_prefix_cache);
      const isIn = (cell: number) => cells.some(([first, count]) => cell >= first && cell < first + count);
      const wanted = cells.reduce((sum, [, count]) => sum + count, 0);
      // Whoever names more cells than there are is not believed to the last of them.
      if (wanted > holders.size) takeCells(step, [...holders.keys()].filter(isIn), how);
      else
        for (const [first, count] of cells)
          takeCells(
            step,
            Array.from({ length: count }, (_, i) => first + i),
            how,
          );
    },
    keep(step, id) {
      // A sequence with cells of its own shares them with none, and none of the others is looked at.
      if (streamCells !== null) return;
      sequenceOf(id);
      unseen = null;
      for (const sequence of sequences.values())
        if (sequence.id !== id) trimOne(step, sequence, ALL_POSITIONS, ROW_ENDS.trimmed);
    },
    move(step, id, { from, to: end }, moved) {
      order.leave();
      const seen = new Set<LiveRow>();
      for (const sequence of named(id)) {
        for (const row of sequence.rows) {
          if (row.position < from || row.position >= end || seen.has(row)) continue;
          seen.add(row);
          settle(row);
          row.position = moved(row.position);
        }
      }
      // An engine turns its keys by the new positions: all of the cache in one go, where it does.
      if (seen.size > 0) {
        for (const { rows } of sequences.values()) {
          for (const row of rows) if (row.writes === "once") row.writes = "perhaps_more";
        }
      }
      const gone = [...seen].filter(({ position }) => position < 0);
      if (gone.length === 0) return;
      for (const row of gone) close(row, step.begin_ns, ROW_ENDS.shifted);
      for (const sequence of sequences.values()) sequence.rows = sequence.rows.filter(({ position }) => position >= 0);
    },
    restore(step, id) {
      order.leave();
      for (const sequence of named(id)) {
        trimOne(step, sequence, ALL_POSITIONS, ROW_ENDS.replaced);
        sequence.unseen = step;
      }
      if (id === null) unseen = step;
    },
    empty(step) {
      isSure = true;
      for (const sequence of sequences.values()) trimOne(step, sequence, ALL_POSITIONS, ROW_ENDS.cleared);
      sequences.clear();
      unseen = null;
      order.begin();
    },
    isSure: () => isSure,
    isCounted: () => !hasUnseen || !repeats,
    finish() {
      const living = new Set<LiveRow>();
      for (const { rows } of sequences.values()) for (const row of rows) living.add(row);
      for (const row of living) close(row, null, null);
      return order.isDoubtful() && !tellsCells ? ended.map((token) => ({ ...token, cell: null })) : ended;
    },
  };
}
