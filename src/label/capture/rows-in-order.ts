/** A stream of any length as rows in order of time, of which few are held: it is read twice, first for its times. */
import { type Batch, isStringColumn } from "../../columnar/batch.ts";
import { collectAfter } from "../../columnar/collect-after.ts";
import { everyRow, numberOrder } from "../../columnar/keys/number-order.ts";
import { assertRefusal } from "../../columnar/read/refusal.ts";
import { tableBatches } from "../../columnar/read/table-batches.ts";
import { batchFromRows, rowReader } from "../../columnar/rows.ts";
import { MrmTraceError } from "../../errors.ts";
import type { StreamName } from "../../schema/columns.ts";
import type { RowOf } from "../../schema/row.ts";
import type { Database } from "../../sql/database.ts";
import { firstIndex } from "../../statistics/first-index.ts";
import { type Capture, reasonOf, type Segment } from "./capture.ts";
import { queriedRows } from "./stream-rows.ts";

export interface RowsInOrder<S extends StreamName> {
  readonly count: number;
  /** Rows that lack a required value, and were left out. */
  readonly incomplete: number;
  /** The rows; those of one time in the order in which they were written. */
  rows(): Generator<RowOf<S>, void, void>;
}

/**
 * Decoded rows that are held at a time, unless one row group has more: those of several groups, as threads that map at once
 * write rows whose times lie in two of them by turns.
 */
const HELD_ROWS = 1 << 18;

/** A row group, or what the SQL engine read of a segment that is not decoded here. */
interface Block<S extends StreamName> {
  readonly path: string;
  readonly group: number;
  readonly first: number;
  readonly rows: number;
  readonly queried: Batch<S> | null;
}

/** Times less that of the first, which are exact for 104 days. */
function timesOf(batch: Batch, baseNs: bigint): Float64Array {
  const column = batch.columns.timestamp_ns;
  if (column === undefined || isStringColumn(column)) throw new TypeError(`${batch.table} has no times`);
  return Float64Array.from({ length: batch.rows }, (_, row) => Number((column.data[row] as bigint) - baseNs));
}

/** Gives the reader of a block, keeping the last ones. */
function blockReaders<S extends StreamName>(stream: S): (block: Block<S>) => (row: number) => RowOf<S> {
  const readers = new Map<Block<S>, (row: number) => RowOf<S>>();
  let held = 0;
  const decoded = collectAfter(HELD_ROWS / 4);

  function read({ path, group, queried }: Block<S>): Batch<S> {
    const [batch] = queried === null ? tableBatches(path, stream, group) : [queried];
    if (batch === undefined) throw new Error(`${path} changed while it was read`);
    return batch;
  }

  return (block) => {
    const reader = readers.get(block) ?? rowReader(read(block));
    if (!readers.delete(block)) {
      held += block.rows;
      decoded(block.rows);
    }
    readers.set(block, reader);
    for (const oldest of readers.keys()) {
      if (held <= HELD_ROWS || oldest === block) break;
      readers.delete(oldest);
      held -= oldest.rows;
    }
    return reader;
  };
}

/**
 * Looks at all segments of a stream. One whose pages cannot be read is added to `capture.skipped`, with all its rows.
 * @throws MrmTraceError data_quality at another major schema version
 */
export async function rowsInOrder<S extends StreamName>(
  database: Database,
  capture: Capture,
  stream: S,
): Promise<RowsInOrder<S>> {
  const blocks: Block<S>[] = [];
  const times: Float64Array[] = [];
  let baseNs: bigint | null = null;
  let count = 0;
  let incomplete = 0;

  function add(path: string, group: number, batch: Batch<S>, isQueried: boolean): void {
    const column = batch.columns.timestamp_ns;
    if (column !== undefined && !isStringColumn(column)) baseNs ??= (column.data[0] as bigint | undefined) ?? null;
    times.push(timesOf(batch, baseNs ?? 0n));
    blocks.push({ path, group, first: count, rows: batch.rows, queried: isQueried ? batch : null });
    count += batch.rows;
  }

  /** False where only the SQL engine reads the segment, or nobody. */
  function scan({ path }: Segment): boolean {
    const before = { blocks: blocks.length, count };
    try {
      let group = 0;
      for (const batch of tableBatches(path, stream)) add(path, group++, batch, false);
      return true;
    } catch (error) {
      if (error instanceof MrmTraceError) throw error;
      assertRefusal(error);
      blocks.length = times.length = before.blocks;
      count = before.count;
      return false;
    }
  }

  for (const segment of capture.segments[stream]) {
    const countBefore = count;
    try {
      if (!scan(segment)) {
        const rows = await queriedRows(database, segment, stream);
        if (rows.length > 0) add(segment.path, 0, batchFromRows(stream, rows), true);
      }
      incomplete += segment.rows - (count - countBefore);
    } catch (error) {
      if (error instanceof MrmTraceError) throw error;
      capture.skipped.push({ stream, path: segment.path, rows: segment.rows, reason: reasonOf(error) });
    }
  }
  const all = new Float64Array(count);
  for (const [i, { first }] of blocks.entries()) all.set(times[i] as Float64Array, first);
  times.length = 0;
  const order = numberOrder(everyRow(count), all);

  return {
    count,
    incomplete,
    *rows() {
      const readerOf = blockReaders(stream);
      let block: Block<S> | undefined;
      let rowAt: ((row: number) => RowOf<S>) | undefined;
      for (let i = 0; i < order.length; i++) {
        const row = order[i] as number;
        if (block === undefined || rowAt === undefined || row < block.first || row >= block.first + block.rows) {
          block = blocks[firstIndex(blocks.length, (i) => (blocks[i] as Block<S>).first <= row) - 1] as Block<S>;
          rowAt = readerOf(block);
        }
        yield rowAt(row - block.first);
      }
    },
  };
}
