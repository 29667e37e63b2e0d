/** Places as columns: addresses that a process held over a time. A run may have millions, so none is an object. */
import { collectAround } from "../../columnar/collect-after.ts";
import { numberOrder } from "../../columnar/keys/number-order.ts";
import { MrmTraceError } from "../../errors.ts";
import { formatCount } from "../../units.ts";

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

/** birth: it was there before we looked. death: it was there when the run ended. */
export const CENSORED = { birth: 1, death: 2 } as const;

const FIRST_ROOM = 1024;
const GROWTH = 1.25;

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
        if (row >= most) throw tooMany(most);
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

function tooMany(most: number): MrmTraceError {
  return new MrmTraceError(
    "environment",
    `the run holds more than ${formatCount(most)} lives of mappings, which are all that the memory for deriving holds; what was recorded is kept`,
    "allow more where there is more: mrm-trace analyse RUN_DIR --memory 2GiB",
  );
}

/** The rows in order of process, address, birth and end. */
export function inOrder(places: Places, rows: Uint32Array): Uint32Array {
  const byBirth = numberOrder(numberOrder(rows, places.end), places.birth_ns);
  return numberOrder(numberOrder(byBirth, places.begin), places.pid);
}

/** When the bytes of a place were gone; Infinity where the run ended before. */
export function goneNs({ death_ns, censored }: Places, row: number): number {
  return (censored[row] as number) & CENSORED.death ? Number.POSITIVE_INFINITY : (death_ns[row] as number);
}
