/** Some tokens in an order: what is asked of them most is read without making them. */
import { everyRow, numberOrder } from "../../columnar/keys/number-order.ts";
import type { KvToken, ReadSpan, RowWrites, TokenOrigin } from "./kv-token.ts";
import type { KvEnd } from "./row-ends.ts";
import type { TokenColumns } from "./token-columns.ts";

/** By their places, from 0: see `KvToken`. */
export interface TokenList extends Iterable<KvToken> {
  readonly length: number;
  /** All that is known of one, made anew. */
  token(place: number): KvToken;
  /** The same object for all that have it in common. */
  origin(place: number): TokenOrigin;
  position(place: number): number | null;
  cell(place: number): number | null;
  write_ns(place: number): number;
  written_by_ns(place: number): number;
  writes(place: number): RowWrites;
  reads(place: number): readonly ReadSpan[];
  total_reads(place: number): number;
  last_read_ns(place: number): number | null;
  evict_ns(place: number): number | null;
  end(place: number): KvEnd | null;
  shared_with(place: number): readonly number[];
  requests(place: number): string | null;
}

/** Tokens of the columns of a run, by the numbers of their rows. */
export interface ColumnTokens extends TokenList {
  readonly columns: TokenColumns;
  readonly rows: Uint32Array;
}

export function tokensAt(columns: TokenColumns, rows: Uint32Array): ColumnTokens {
  const rowOf = (place: number): number => rows[place] as number;
  const { spans, shared } = columns;
  return {
    ...{ columns, rows, length: rows.length },
    token: (place) => columns.token(rowOf(place)),
    origin: (place) => columns.origin(rowOf(place)),
    position: (place) => columns.position.get(rowOf(place)),
    cell: (place) => columns.cell.get(rowOf(place)),
    write_ns: (place) => columns.write_ns(rowOf(place)),
    written_by_ns: (place) => columns.written_by_ns(rowOf(place)),
    writes: (place) => columns.writes(rowOf(place)),
    reads: (place) => spans.list(columns.chain.get(rowOf(place))),
    total_reads: (place) => spans.total(columns.chain.get(rowOf(place))),
    last_read_ns: (place) => spans.last_ns(columns.chain.get(rowOf(place))),
    evict_ns: (place) => columns.evict_ns.get(rowOf(place)),
    end: (place) => columns.end(rowOf(place)),
    shared_with: (place) => shared.ids(columns.others.get(rowOf(place))),
    requests: (place) => columns.requests(rowOf(place)),
    *[Symbol.iterator]() {
      for (const row of rows) yield columns.token(row);
    },
  };
}

/** Places of rows in order of their writes, then of positions; those that agree in both as they were. */
export function orderOfWrites(columns: TokenColumns, rows: Uint32Array): Uint32Array {
  const positions = Float64Array.from(rows, (row) => columns.position.get(row) ?? -1);
  const byPosition = numberOrder(everyRow(rows.length), positions);
  const writes = positions;
  for (let i = 0; i < rows.length; i++) writes[i] = columns.write_ns(rows[i] as number);
  return numberOrder(byPosition, writes);
}

/** Lists behind each other. */
export function together(lists: readonly Uint32Array[]): Uint32Array {
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  const all = new Uint32Array(lists.reduce((sum, { length }) => sum + length, 0));
  let next = 0;
  for (const list of lists) {
    all.set(list, next);
    next += list.length;
  }
  return all;
}
