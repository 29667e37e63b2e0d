/** What a cache tensor has room for: of more rows than it has cells, the oldest were written over. */
import { type GrowingColumn, type GrowingList, uint32Column, uint32List } from "../../columnar/growing-column.ts";
import { everyRow, numberOrder } from "../../columnar/keys/number-order.ts";
import { placeIn, type ReadSpan } from "./kv-token.ts";
import { NO_SPANS } from "./read-spans.ts";
import { type KvEnd, ROW_ENDS } from "./row-ends.ts";
import type { TokenColumns } from "./token-columns.ts";
import type { ColumnTokens, TokenList } from "./token-list.ts";

export interface Room {
  /** Rows of one stream. */
  readonly cells: number;
  /** 1 where all sequences share the rows, else one for each. */
  readonly streams: number;
  readonly birth_ns: number;
  readonly death_ns: number;
}

/** In place of the row of a token that a tensor never held. */
export const NOT_HELD = 0xffffffff;

/** Number of the chain without the batches that began at `end_ns` or later: the same where there are none. */
function cutChain({ spans }: TokenColumns, chain: number, end_ns: number): number {
  if ((spans.last_ns(chain) ?? Number.NEGATIVE_INFINITY) < end_ns) return chain;
  const cut = spans.list(chain).map((span): ReadSpan => ({ ...span, until: placeIn(span, end_ns) }));
  return cut.reduce((one, span) => spans.add(one, span), NO_SPANS);
}

/** The row as it is where it ends at `end_ns` at the latest: itself, or another one with fewer reads. */
function endedBy(columns: TokenColumns, row: number, end_ns: number, end: KvEnd = ROW_ENDS.memory_gone): number {
  if ((columns.evict_ns.get(row) ?? Number.POSITIVE_INFINITY) <= end_ns || !Number.isFinite(end_ns)) return row;
  const { chain } = columns;
  const ended = columns.copy(row);
  chain.set(ended, cutChain(columns, chain.get(row), end_ns));
  columns.evict_ns.set(ended, end_ns);
  columns.setEnd(ended, end);
  return ended;
}

/** Rows as they are where their tensor is gone at a time. */
export type EndedRows = (row: number, death_ns: number) => number;

/** The same row for all tensors that are gone at one time, as all of a process that ends. */
export function endedRows(columns: TokenColumns): EndedRows {
  const byDeath = new Map<number, GrowingColumn>();
  return (row, death_ns) => {
    const mine = byDeath.get(death_ns) ?? uint32Column();
    byDeath.set(death_ns, mine);
    const found = mine.get(row);
    if (found > 0) return found - 1;
    const ended = endedBy(columns, row, death_ns);
    mine.set(row, ended + 1);
    return ended;
  };
}

/**
 * Ends the oldest of the live rows wherever a write finds none of `cells` rows free.
 * @param rows of tokens in order of their write; they are others afterwards where some are written over
 */
function wrap(columns: TokenColumns, rows: Uint32Array, cells: number): void {
  const n = rows.length;
  if (n <= cells) return;
  const endOf = (i: number): number => columns.evict_ns.get(rows[i] as number) ?? Number.POSITIVE_INFINITY;
  const endNs = Float64Array.from(rows, (_, i) => endOf(i));
  const ends = numberOrder(everyRow(n), endNs);
  const isOut = new Uint8Array(n);
  let alive = 0;
  let nextEnd = 0;
  let oldest = 0;
  for (let i = 0; i < n; i++) {
    const write_ns = columns.write_ns(rows[i] as number);
    for (; nextEnd < n; nextEnd++) {
      const ended = ends[nextEnd] as number;
      if (ended >= i || (endNs[ended] as number) > write_ns) break;
      if (isOut[ended] === 0) alive -= 1;
      isOut[ended] = 1;
    }
    if (alive >= cells) {
      while (isOut[oldest] === 1) oldest += 1;
      isOut[oldest] = 1;
      const lost = rows[oldest] as number;
      const ended = endedBy(columns, lost, write_ns, ROW_ENDS.written_over);
      rows[oldest] = ended === lost ? columns.copy(lost) : ended;
      rows[i] = columns.copy(rows[i] as number);
      for (const place of [oldest, i]) columns.setWrites(rows[place] as number, "more");
      alive -= 1;
    }
    alive += 1;
  }
}

/**
 * True where sequences that share the cells are said to have had more rows at once than there are cells, before the first batch too: each of
 * these rows was counted for one of them, and some are of several.
 */
export function isOvercounted(tokens: TokenList, { cells, streams }: Pick<Room, "cells" | "streams">): boolean {
  const unseen = new Set<number | null>();
  for (let i = 0; i < tokens.length; i++) {
    const { is_written, sequence } = tokens.origin(i);
    if (!is_written) unseen.add(sequence);
  }
  if (streams > 1 || unseen.size < 2) return false;
  const ends = Float64Array.from(
    { length: tokens.length },
    (_, i) => tokens.evict_ns(i) ?? Number.POSITIVE_INFINITY,
  ).sort();
  let ended = 0;
  for (let i = 0; i < tokens.length; i++) {
    const write_ns = tokens.write_ns(i);
    while ((ends[ended] ?? Number.POSITIVE_INFINITY) <= write_ns) ended += 1;
    if (i + 1 - ended > cells) return true;
  }
  return false;
}

/** Places of the tokens that a tensor held at all, by the stream that they lie in. */
function placesByStream(tokens: ColumnTokens, { streams, birth_ns, death_ns }: Room): Map<number, GrowingList> {
  const places = new Map<number, GrowingList>();
  for (let i = 0; i < tokens.length; i++) {
    const write_ns = tokens.write_ns(i);
    const written_by_ns = tokens.written_by_ns(i);
    // A cache may first be seen while a batch fills it, which has begun before.
    const seen_ns = Number.isFinite(written_by_ns) ? written_by_ns : write_ns;
    if (!(birth_ns <= seen_ns && write_ns < death_ns)) continue;
    const stream = streams > 1 ? (tokens.origin(i).sequence ?? 0) : 0;
    const mine = places.get(stream) ?? uint32List();
    places.set(stream, mine);
    mine.push(i);
  }
  return places;
}

/**
 * Rows of the tokens as a tensor holds them, NOT_HELD for one that it never held; a token that it lost before its sequence did ends there.
 * @param tokens of the tensor's context, in order of their write
 */
export function rowsIn(tokens: ColumnTokens, room: Room, ended: EndedRows = endedRows(tokens.columns)): Uint32Array {
  const { columns } = tokens;
  const held = new Uint32Array(tokens.length).fill(NOT_HELD);
  for (const places of placesByStream(tokens, room).values()) {
    const mine = places.values();
    const rows = mine.map((i) => tokens.rows[i] as number);
    wrap(columns, rows, room.cells);
    for (const [k, i] of mine.entries()) held[i] = ended(rows[k] as number, room.death_ns);
  }
  return held;
}
