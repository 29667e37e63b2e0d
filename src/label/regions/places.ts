/** Places as columns: addresses that a process held over a time. A run may have millions, so none is an object. */
import { collectAfter, collectAround } from "../../columnar/collect-after.ts";
import { numberOrder } from "../../columnar/keys/number-order.ts";
import { tooMany } from "../label-room.ts";

/** Columns of equal meaning by row; arrays may be longer than `count`. Addresses and times are exact below 2^53. */
export interface Places {
  readonly count: number;
  readonly pid: Uint32Array;
  /** First byte, and the one behind the last. */
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** ns since the origin of the run; a death is no end where `CENSORED.death` is set. */
  readonly birth_ns: Float64Array;
  readonly death_ns: Float64Array;
  /** What was there: a position in a list that the maker of the places has. */
  readonly what: Uint32Array;
  /** Bits of CENSORED. */
  readonly censored: Uint8Array;
}

/**
 * birth: it was there before we looked. death: it was there when the run ended. left: its bytes went on at another address, with what
 * they held. came: they had been at another address before.
 */
export const CENSORED = { birth: 1, death: 2, left: 4, came: 8 } as const;

/** True where bits say that the begin and the end of a place were those of its bytes, and were seen. */
export const isWholeLife = (bits: number): boolean => bits === 0;

const FIRST_ROOM = 1024;
/** Room that nothing was put into takes no memory: columns seldom grow, as both are there while one is copied. */
const GROWTH = 4;
/** Rows until what ordering them left behind is collected. */
const COLLECT_AFTER = 1 << 18;

type Columns = { -readonly [K in keyof Places]: Places[K] };

function room(capacity: number): Columns {
  return {
    count: 0,
    pid: new Uint32Array(capacity),
    begin: new Float64Array(capacity),
    end: new Float64Array(capacity),
    birth_ns: new Float64Array(capacity),
    death_ns: new Float64Array(capacity),
    what: new Uint32Array(capacity),
    censored: new Uint8Array(capacity),
  };
}

const NAMES = ["pid", "begin", "end", "birth_ns", "death_ns", "what", "censored"] as const;

/** Replaces each column by `make` of it, one after the other, so that no two columns are there twice. */
function replaceColumns(
  columns: Columns,
  make: <A extends Float64Array | Uint32Array | Uint8Array>(old: A) => A,
): void {
  for (const name of NAMES) {
    const column = make(columns[name]);
    columns[name] = column as never;
    collectAround(column.length);
  }
}

/** An array of the same kind. */
function sameKind<A extends Float64Array | Uint32Array | Uint8Array>(array: A, length: number): A {
  return new (array.constructor as new (length: number) => A)(length);
}

export interface PlaceList {
  /** The rows so far; the columns are others once the list has grown. */
  readonly places: Places;
  /** Adds a row, and returns its number. @throws MrmTraceError environment, where there is no memory for more */
  add(
    pid: number,
    begin: number,
    end: number,
    birth_ns: number,
    death_ns: number,
    what: number,
    censored: number,
  ): number;
  /** Puts another extent in place of that of a row. */
  set(
    row: number,
    begin: number,
    end: number,
    birth_ns: number,
    death_ns: number,
    what: number,
    censored: number,
  ): void;
  /** Leaves the rows given, in their order; the columns are then no longer than they need to be. */
  take(rows: Uint32Array): void;
}

/** @param most rows that there is memory for */
export function placeList(most = Number.POSITIVE_INFINITY): PlaceList {
  const columns = room(FIRST_ROOM);

  function set(
    row: number,
    begin: number,
    end: number,
    birth_ns: number,
    death_ns: number,
    what: number,
    censored: number,
  ): void {
    columns.begin[row] = begin;
    columns.end[row] = end;
    columns.birth_ns[row] = birth_ns;
    columns.death_ns[row] = death_ns;
    columns.what[row] = what;
    columns.censored[row] = censored;
  }

  return {
    places: columns,
    add(pid, begin, end, birth_ns, death_ns, what, censored) {
      const row = columns.count++;
      if (row >= columns.pid.length) {
        if (row >= most) throw tooMany("lives of mappings", most);
        const capacity = Math.min(most, Math.ceil(GROWTH * columns.pid.length));
        replaceColumns(columns, (old) => {
          const larger = sameKind(old, capacity);
          larger.set(old as Uint8Array);
          return larger;
        });
      }
      columns.pid[row] = pid;
      set(row, begin, end, birth_ns, death_ns, what, censored);
      return row;
    },
    set,
    take(rows) {
      columns.count = rows.length;
      replaceColumns(columns, (old) => {
        const taken = sameKind(old, rows.length);
        for (let i = 0; i < rows.length; i++) taken[i] = old[rows[i] as number] as number;
        return taken;
      });
    },
  };
}

/** Rows of one process that are compared with each other; more are put into order column by column. */
const COMPARED_ROWS = 1 << 12;

/** Rows of one process in order of address, birth and end; those that agree as they were. */
function processInOrder({ begin, birth_ns, end }: Places, rows: Uint32Array): Uint32Array {
  if (rows.length > COMPARED_ROWS) return numberOrder(numberOrder(numberOrder(rows, end), birth_ns), begin);
  return rows.sort(
    (a, b) =>
      (begin[a] as number) - (begin[b] as number) ||
      (birth_ns[a] as number) - (birth_ns[b] as number) ||
      (end[a] as number) - (end[b] as number) ||
      a - b,
  );
}

/**
 * The rows in order of process, address, birth and end.
 * @param rows something else afterwards
 */
export function inOrder(places: Places, rows: Uint32Array): Uint32Array {
  const { pid } = places;
  const order = numberOrder(rows, pid);
  const sorted = collectAfter(COLLECT_AFTER);
  for (let from = 0; from < order.length; ) {
    let end = from + 1;
    while (end < order.length && pid[order[end] as number] === pid[order[from] as number]) end += 1;
    const mine = order.subarray(from, end);
    const arranged = processInOrder(places, mine);
    if (arranged !== mine) mine.set(arranged);
    sorted(end - from);
    from = end;
  }
  return order;
}

/** When the bytes of a place were gone; Infinity where the run ended before. */
export function goneNs({ death_ns, censored }: Places, row: number): number {
  return (censored[row] as number) & CENSORED.death ? Number.POSITIVE_INFINITY : (death_ns[row] as number);
}
