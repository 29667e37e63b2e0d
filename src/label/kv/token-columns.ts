/** Tokens of KV caches in columns, a row each: a run may have millions, of which many share what was told of them. */
import { float64Column, type GrowingColumn, uint8Column, uint32Column } from "../../columnar/growing-column.ts";
import type { StepRow } from "../timeline/step-row.ts";
import type { KvToken, RowWrites, TokenOrigin } from "./kv-token.ts";
import { type SpanChains, spanChains } from "./read-spans.ts";
import type { KvEnd } from "./row-ends.ts";
import { type SharedLists, sharedLists } from "./shared-lists.ts";

const WRITES: readonly RowWrites[] = ["once", "more", "perhaps_more"];

/** Values that are the same for many rows, by a number from 1 on; 0 for none. */
interface Values<T> {
  number(value: T | null): number;
  value(number: number): T | null;
}

/** @param keyOf what equal values have in common, by which they are found again */
function valuesBy<T>(keyOf: (value: T) => string): Values<T> {
  const values: T[] = [];
  const numbers = new Map<string, number>();
  return {
    number(value) {
      if (value === null) return 0;
      const key = keyOf(value);
      let number = numbers.get(key);
      if (number === undefined) {
        number = values.push(value);
        numbers.set(key, number);
      }
      return number;
    },
    value: (number) => values[number - 1] ?? null,
  };
}

/** Times and places, of which some are not known. */
interface Known {
  get(row: number): number | null;
  set(row: number, value: number | null): void;
}

function knownIn(column: GrowingColumn): Known {
  return {
    get(row) {
      const value = column.get(row);
      return Number.isNaN(value) ? null : value;
    },
    set: (row, value) => column.set(row, value ?? Number.NaN),
  };
}

export interface NewRow {
  /** By `addOrigin`. */
  readonly origin: number;
  readonly written: StepRow;
  readonly position: number | null;
  readonly cell: number | null;
}

export interface TokenColumns {
  /** @returns the number of what several rows have in common */
  addOrigin(origin: TokenOrigin): number;
  readonly spans: SpanChains;
  readonly shared: SharedLists;
  readonly position: Known;
  readonly cell: Known;
  readonly evict_ns: Known;
  /** Numbers of `spans` and of `shared`. */
  readonly chain: GrowingColumn;
  readonly others: GrowingColumn;
  /** @returns its number */
  add(row: NewRow): number;
  /** Another row that is the same. */
  copy(row: number): number;
  origin(row: number): TokenOrigin;
  /** The batch that wrote it. */
  written(row: number): StepRow;
  write_ns(row: number): number;
  written_by_ns(row: number): number;
  writes(row: number): RowWrites;
  setWrites(row: number, writes: RowWrites): void;
  end(row: number): KvEnd | null;
  setEnd(row: number, end: KvEnd | null): void;
  requests(row: number): string | null;
  setRequests(row: number, requests: string | null): void;
  /** All that is known of a row. */
  token(row: number): KvToken;
}

export function tokenColumns(): TokenColumns {
  const origins: TokenOrigin[] = [];
  const ends = valuesBy(({ by, left_prefix_cache }: KvEnd) => `${by}/${left_prefix_cache}`);
  const requestLists = valuesBy((requests: string) => requests);
  const steps: StepRow[] = [];
  const spans = spanChains();
  const shared = sharedLists();
  const [originAt, stepAt, requestsAt] = [uint32Column(), uint32Column(), uint32Column()];
  const [chain, others] = [uint32Column(), uint32Column()];
  const [writesAt, endAt] = [uint8Column(), uint8Column()];
  const numbers = { position: float64Column(), cell: float64Column(), evict_ns: float64Column() };
  const position = knownIn(numbers.position);
  const cell = knownIn(numbers.cell);
  const evict_ns = knownIn(numbers.evict_ns);
  let rows = 0;

  const stepOf = (row: number): StepRow => steps[stepAt.get(row)] as StepRow;
  const originOf = (row: number): TokenOrigin => origins[originAt.get(row)] as TokenOrigin;

  function add({ origin, written, position: first, cell: place }: NewRow): number {
    const row = rows++;
    // Rows come in order of the batches that write them, with few exceptions.
    if (steps.at(-1) !== written) steps.push(written);
    originAt.set(row, origin);
    stepAt.set(row, steps.length - 1);
    position.set(row, first);
    cell.set(row, place);
    evict_ns.set(row, null);
    return row;
  }

  return {
    addOrigin: (origin) => origins.push(origin) - 1,
    ...{ spans, shared, position, cell, evict_ns, chain, others, add },
    copy(row) {
      const copied = rows++;
      for (const column of [originAt, stepAt, requestsAt, chain, others, writesAt, endAt, ...Object.values(numbers)])
        column.set(copied, column.get(row));
      return copied;
    },
    origin: originOf,
    written: stepOf,
    write_ns: (row) => stepOf(row).begin_ns,
    written_by_ns: (row) => stepOf(row).end_ns,
    writes: (row) => WRITES[writesAt.get(row)] ?? "once",
    setWrites: (row, writes) => writesAt.set(row, WRITES.indexOf(writes)),
    end: (row) => ends.value(endAt.get(row)),
    setEnd: (row, end) => endAt.set(row, ends.number(end)),
    requests: (row) => requestLists.value(requestsAt.get(row)),
    setRequests: (row, requests) => requestsAt.set(row, requestLists.number(requests)),
    token(row) {
      const { begin_ns, end_ns } = stepOf(row);
      return {
        ...originOf(row),
        position: position.get(row),
        cell: cell.get(row),
        write_ns: begin_ns,
        written_by_ns: end_ns,
        writes: WRITES[writesAt.get(row)] ?? "once",
        reads: spans.list(chain.get(row)),
        total_reads: spans.total(chain.get(row)),
        last_read_ns: spans.last_ns(chain.get(row)),
        evict_ns: evict_ns.get(row),
        end: ends.value(endAt.get(row)),
        shared_with: shared.ids(others.get(row)),
        requests: requestLists.value(requestsAt.get(row)),
      };
    },
  };
}
