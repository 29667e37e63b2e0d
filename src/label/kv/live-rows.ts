/** Rows of one context's KV cache while they are there: who reads them from when on, and what is put down of that when they end. */
import { float64Column, uint32Column, uint32List } from "../../columnar/growing-column.ts";
import { type KvEnd, ROW_ENDS } from "./row-ends.ts";
import { neededFrom, type Readers, type ReadersBySequence } from "./row-readers.ts";
import type { NewRow, TokenColumns } from "./token-columns.ts";

export interface LiveRows {
  /** @returns the number of a row that these have from now on */
  add(row: NewRow & { readonly position: number }, readers: Readers): number;
  isLive(row: number): boolean;
  /** Where it is now in its sequence. */
  position(row: number): number;
  move(row: number, position: number): void;
  readers(row: number): Readers;
  /** When a batch came that was past its window, and none since that was not; null in its window. */
  passed_ns(row: number): number | null;
  /** From now on the row is that of others. */
  giveTo(row: number, readers: Readers): void;
  close(row: number, evict_ns: number | null, how: KvEnd | null): void;
  /** Rows that were closed, in order of that. */
  ended(): Uint32Array;
}

/** @param window a row at position p is needed by those up to p + window - 1 */
export function liveRows(columns: TokenColumns, bySequence: ReadersBySequence, window: number): LiveRows {
  const { chain, spans } = columns;
  const positions = float64Column();
  /** By their numbers; 0 for a row that is closed. */
  const readersAt = uint32Column();
  /** Place in `begins` of its readers from which on the row was read by these. */
  const fromAt = uint32Column();
  const closed = uint32List();
  // Until a row ends, its end is that of its window.
  const passed = columns.evict_ns;

  const isLive = (row: number): boolean => readersAt.get(row) !== 0;
  const readersOf = (row: number): Readers => bySequence.numbered(readersAt.get(row));

  function hold(row: number, readers: Readers): void {
    bySequence.hold(readers);
    readersAt.set(row, readers.number);
    fromAt.set(row, readers.begins.length);
  }

  /** Counts the batches that needed the row until now. */
  function settle(row: number): void {
    const readers = readersOf(row);
    const from = fromAt.get(row);
    if (readers.begins.length === from) return;
    const needed = neededFrom(readers, from, positions.get(row) + window - 1);
    chain.set(
      row,
      needed.spans.reduce((one, span) => spans.add(one, span), chain.get(row)),
    );
    passed.set(row, needed.passed_ns);
    fromAt.set(row, readers.begins.length);
  }

  return {
    add(given, readers) {
      const row = columns.add(given);
      positions.set(row, given.position);
      hold(row, readers);
      return row;
    },
    isLive,
    position: positions.get,
    move(row, position) {
      settle(row);
      positions.set(row, position);
    },
    readers: readersOf,
    passed_ns(row) {
      settle(row);
      return passed.get(row);
    },
    giveTo(row, readers) {
      if (!isLive(row)) return;
      settle(row);
      const before = readersOf(row);
      hold(row, readers);
      bySequence.release(before);
    },
    close(row, evict_ns, how) {
      // Who names a sequence twice has its rows twice.
      if (!isLive(row)) return;
      settle(row);
      bySequence.release(readersOf(row));
      readersAt.set(row, 0);
      fromAt.set(row, 0);
      const passed_ns = passed.get(row);
      columns.evict_ns.set(row, passed_ns ?? evict_ns);
      columns.setEnd(row, passed_ns === null ? how : ROW_ENDS.trimmed);
      closed.push(row);
    },
    ended: closed.values,
  };
}
