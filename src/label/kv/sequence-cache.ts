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
import type { TokenOrigin } from "./kv-token.ts";
import { liveRows } from "./live-rows.ts";
import { ALL_POSITIONS, type Positions } from "./positions.ts";
import { givenOut, type KvEnd, ROW_ENDS } from "./row-ends.ts";
import { type Readers, readersBySequence } from "./row-readers.ts";

/** What is known of rows beside their sequence and position. */
interface WrittenAs {
  readonly is_written?: boolean;
  readonly cell?: number | null;
  readonly may_share?: string | null;
}

interface Sequence {
  readonly id: number;
  rows: number[];
  /** Null before its first write, and after it was emptied. */
  filling: number | null;
  /** What its last row has in common with others, and its number. */
  origin: (Pick<TokenOrigin, "filling" | "is_written"> & { may_share: string | null; number: number }) | null;
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
  const {
    pid,
    engine,
    context,
    streamCells,
    tellsCells,
    mayMove,
    window,
    in_window,
    nextFilling,
    countToken,
    columns,
  } = name;
  const sequences = new Map<number, Sequence>();
  /** The live rows of which the engine named the cell. */
  const holders = new Map<number, number>();
  const readers = readersBySequence();
  const live = liveRows(columns, readers, window);
  /** What a sequence holds that was never heard of. */
  let unseen: Sequence["unseen"] = "start";
  const order = cellOrder(mayMove);
  let isSure = true;
  /** Rows were there that nobody told of, as many as positions; and several rows of a sequence have one position. */
  let hasUnseen = false;
  let repeats = false;
  /** The others of the last row. */
  let shared: { readonly owners: readonly number[]; readonly list: number } | null = null;

  function sequenceOf(id: number): Sequence {
    let sequence = sequences.get(id);
    if (sequence === undefined) {
      const nothing = { filling: null, origin: null, lastBatch: null, due: null };
      sequence = { id, rows: [], cut_ns: Number.NEGATIVE_INFINITY, unseen, ...nothing };
      sequences.set(id, sequence);
    }
    return sequence;
  }

  /** Position of the last row of a sequence; -1 for none. */
  function lastPosition({ rows }: Sequence): number {
    const last = rows.at(-1);
    return last === undefined ? -1 : live.position(last);
  }

  function close(row: number, evict_ns: number | null, how: KvEnd | null): void {
    const cell = columns.cell.get(row);
    if (cell !== null && holders.get(cell) === row) holders.delete(cell);
    live.close(row, evict_ns, how);
  }

  function leave(row: number, id: number, time_ns: number, how: KvEnd): void {
    const rest = readers.without(live.readers(row), id);
    if (rest === null) close(row, time_ns, how);
    else live.giveTo(row, rest);
  }

  function trimOne(step: StepRow, sequence: Sequence, { from, to: end }: Positions, how: KvEnd): void {
    const isWhole = from <= 0 && end === Number.POSITIVE_INFINITY;
    if (isWhole) Object.assign(sequence, { unseen: null, due: null });
    let older = false;
    /** Of the rows since the last cut those that stay, less those that go. */
    let staying = 0;
    const kept: number[] = [];
    for (const row of sequence.rows) {
      const written = columns.written(row);
      const isNew = written.begin_ns >= sequence.cut_ns ? 1 : 0;
      const position = live.position(row);
      if (position < from || position >= end) {
        kept.push(row);
        staying += isNew;
        continue;
      }
      staying -= isNew;
      older ||= written !== sequence.lastBatch;
      leave(row, sequence.id, step.begin_ns, how);
    }
    sequence.rows = kept;
    // A stretch that was taken from its midst before may lie in front of where it is cut.
    if (sequence.due !== null) sequence.due = Math.min(sequence.due, 1 + lastPosition(sequence));
    if (end !== Number.POSITIVE_INFINITY && lastPosition(sequence) >= end) order.leave();
    // What was guessed ahead and given up in the next step goes on, and a chat of which less than half of a turn is cut; a rest begins anew.
    if (isWhole || (older && end === Number.POSITIVE_INFINITY)) {
      if (isWhole || staying <= 0) sequence.filling = null;
      sequence.cut_ns = step.begin_ns;
    }
  }

  function named(id: number | null): Sequence[] {
    return id === null ? [...sequences.values()] : [sequenceOf(id)];
  }

  function originOf(sequence: Sequence, filling: number, is_written: boolean, may_share: string | null): number {
    const { origin: last, id } = sequence;
    const isAlike = last?.filling === filling && last.is_written === is_written && last.may_share === may_share;
    if (last !== null && isAlike) return last.number;
    const common = { pid, engine, context, sequence: id, filling, is_written };
    const number = columns.addOrigin({
      ...common,
      ...(may_share === null ? {} : { may_share }),
      ...(in_window === undefined ? {} : { in_window }),
    });
    sequence.origin = { filling, is_written, may_share, number };
    return number;
  }

  function write(
    step: StepRow,
    sequence: Sequence,
    owners: readonly number[],
    position: number,
    { is_written = true, cell = null, may_share = null }: WrittenAs = {},
  ): number {
    countToken();
    sequence.filling ??= nextFilling(`${step.begin_ns}/${sequence.id}`);
    const origin = originOf(sequence, sequence.filling, is_written, may_share);
    const place = tellsCells ? cell : order.isLinear() ? position : null;
    const row = live.add({ origin, written: step, position, cell: place }, readers.of(owners));
    if (owners.length > 1) {
      if (shared?.owners !== owners) shared = { owners, list: columns.shared.of(owners.slice(1)) };
      columns.others.set(row, shared.list);
    }
    if (cell !== null) {
      if (takeCell(step, cell)) columns.setWrites(row, "more");
      holders.set(cell, row);
    }
    return row;
  }

  /** What is in some cells ends, whoever has it. */
  function takeCells(step: StepRow, cells: Iterable<number>, how: KvEnd): void {
    const gone = new Set([...cells].flatMap((cell) => holders.get(cell) ?? []));
    const losing = new Set([...gone].flatMap((row) => live.readers(row).owners));
    for (const row of gone) close(row, step.begin_ns, how);
    for (const id of losing) {
      const sequence = sequenceOf(id);
      sequence.rows = sequence.rows.filter((row) => !gone.has(row));
    }
  }

  /** What is in a cell ends when it is written again. @returns true where something was there that was not past its window */
  function takeCell(step: StepRow, cell: number): boolean {
    const there = holders.get(cell);
    if (there === undefined) return false;
    const isNeeded = live.passed_ns(there) === null;
    if (isNeeded) columns.setWrites(there, "more");
    takeCells(step, [cell], ROW_ENDS.written_over);
    return isNeeded;
  }

  /** Its rows from a position on are written over, but for those that others have too. @returns their positions */
  function writeOver({ rows }: Sequence, from: number): Set<number> {
    const positions = new Set<number>();
    for (const row of rows) {
      if (live.position(row) < from || live.readers(row).owners.length > 1) continue;
      columns.setWrites(row, "more");
      positions.add(live.position(row));
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
    const there = new Set(sequence.rows.map(live.position));
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
        if (position < lastPosition(sequence)) {
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
        const before = lastPosition(writer);
        order.follow(position, before);
        repeats ||= position === before;
        for (let i = 0; i < tokens; i++, token++) {
          const row = write(step, writer, owners, position + i, { cell: cells?.[token] ?? null });
          if (writtenOver.get(writer)?.has(position + i)) columns.setWrites(row, "more");
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
      const behind = 1 + lastPosition(sequence);
      /** Those of the last row, of which the sequence is none. */
      let apart: Readers | null = null;
      for (const row of source.rows) {
        const position = live.position(row);
        if (position < first || position >= end) continue;
        const having = live.readers(row);
        if (having !== apart && having.owners.includes(id)) continue;
        apart = having;
        if (streamCells !== null) {
          // A copy has the same place among the cells of its sequence.
          const place = tellsCells ? columns.cell.get(row) : null;
          const cell = place === null ? null : (place % streamCells) + id * streamCells;
          const copied = write(step, sequence, [id], position, { cell });
          if (writtenOver?.has(position)) columns.setWrites(copied, "more");
          sequence.rows.push(copied);
          continue;
        }
        live.giveTo(row, readers.together(having, id));
        const { others } = columns;
        if (columns.origin(row).sequence !== id) others.set(row, columns.shared.more(others.get(row), id));
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
      const seen = new Set<number>();
      for (const sequence of named(id)) {
        for (const row of sequence.rows) {
          const position = live.position(row);
          if (position < from || position >= end || seen.has(row)) continue;
          seen.add(row);
          live.move(row, moved(position));
        }
      }
      // An engine turns its keys by the new positions: all of the cache in one go, where it does.
      if (seen.size > 0) {
        for (const { rows } of sequences.values()) {
          for (const row of rows) if (columns.writes(row) === "once") columns.setWrites(row, "perhaps_more");
        }
      }
      const gone = [...seen].filter((row) => live.position(row) < 0);
      if (gone.length === 0) return;
      for (const row of gone) close(row, step.begin_ns, ROW_ENDS.shifted);
      for (const sequence of sequences.values()) sequence.rows = sequence.rows.filter((row) => live.position(row) >= 0);
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
      for (const { rows } of sequences.values()) for (const row of rows) if (live.isLive(row)) close(row, null, null);
      const ended = live.ended();
      if (order.isDoubtful() && !tellsCells) for (const row of ended) columns.cell.set(row, null);
      return ended;
    },
  };
}
