/** Lifetimes of allocations as columns of the table `allocation`, without an object for a row. */

import type { Batch } from "../../columnar/batch.ts";
import { NULL_CODE } from "../../columnar/batch.ts";
import { codesOf, type EveryColumn, wordsOf } from "../../schema/row.ts";
import { ALLOCATORS } from "./format/allocator.ts";
import type { Born } from "./live-table.ts";
import type { Bracket, TimeAxis } from "./time-axis.ts";

const TWO_32 = 2 ** 32;
/** Rows of a batch at most. */
export const MAX_ROWS = 1 << 15;

/** How a lifetime ended, by code. */
export const ENDINGS = wordsOf("allocation", "ended_by");
export const {
  freed: FREED,
  unmapped: UNMAPPED,
  replaced: REPLACED,
  none: ALIVE,
  unpaired: UNPAIRED,
} = codesOf("allocation", "ended_by");

export interface LifetimeRows {
  readonly rows: number;
  readonly full: boolean;
  /** Keeps a lifetime; `interval` and `order` are of its end, and mean nothing for `ALIVE` and `UNPAIRED`. */
  add(born: Born, ending: number, interval: number, order: number): void;
  /** Follows the axis when it halves the numbers of its intervals. */
  halveIntervals(): void;
  /** The rows as a batch; its arrays are written again after that, so they must be copied before the next `add`. */
  take(axis: TimeAxis): Batch<"allocation">;
}

/** A 64-bit column that is written in halves. */
interface Wide {
  readonly data: BigUint64Array;
  readonly halves: Uint32Array;
}

type Columns = ReturnType<typeof emptyColumns>;

function wide(rows: number): Wide {
  const data = new BigUint64Array(rows);
  return { data, halves: new Uint32Array(data.buffer) };
}

function put(halves: Uint32Array, row: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  halves[2 * row] = value - high * TWO_32;
  halves[2 * row + 1] = high;
}

/** Whether a code of ENDINGS has a time. */
const hasEnd = (ending: number): boolean => ending !== ALIVE && ending !== UNPAIRED;

/** Rows of one process, in batches of `most`; `nameOf` gives the name of a thread where it has one. */
export function openLifetimeRows(
  pid: number,
  nameOf: (thread: number) => string | null,
  most = MAX_ROWS,
): LifetimeRows {
  const columns = emptyColumns(most);
  let rows = 0;

  return {
    get rows() {
      return rows;
    },
    get full() {
      return rows === most;
    },
    add(born, ending, interval, order) {
      const row = rows;
      rows += 1;
      put(columns.addr.halves, row, born.address);
      put(columns.size.halves, row, born.size);
      put(columns.birthOrder.halves, row, born.order);
      columns.birthInterval[row] = born.interval;
      columns.thread[row] = born.thread;
      columns.allocator[row] = born.allocator;
      columns.stack[row] = born.stack;
      columns.native[row] = born.native;
      columns.ending[row] = ending;
      columns.ended[row] = 0;
      if (!hasEnd(ending)) return;
      put(columns.deathOrder.halves, row, order);
      columns.deathInterval[row] = interval;
      columns.ended[row] = 1;
    },
    halveIntervals() {
      for (let row = 0; row < rows; row++) {
        columns.birthInterval[row] = (columns.birthInterval[row] ?? 0) >>> 1;
        columns.deathInterval[row] = (columns.deathInterval[row] ?? 0) >>> 1;
      }
    },
    take(axis) {
      const batch = batchOf(columns, rows, axis, pid, nameOf);
      rows = 0;
      return batch;
    },
  };
}

function emptyColumns(most: number) {
  return {
    addr: wide(most),
    size: wide(most),
    birthOrder: wide(most),
    deathOrder: wide(most),
    birthInterval: new Uint32Array(most),
    deathInterval: new Uint32Array(most),
    thread: new Uint32Array(most),
    allocator: new Uint32Array(most),
    stack: new Uint32Array(most),
    native: new Uint32Array(most),
    ending: new Uint32Array(most),
    ended: new Uint8Array(most),
    birth: wide(most),
    birthError: wide(most),
    death: wide(most),
    deathError: wide(most),
    threadName: new Uint32Array(most),
    hasStack: new Uint8Array(most),
    hasNative: new Uint8Array(most),
    pid: new Uint32Array(most),
  };
}

function batchOf(
  columns: Columns,
  rows: number,
  axis: TimeAxis,
  pid: number,
  nameOf: (thread: number) => string | null,
): Batch<"allocation"> {
  const part = columns.ended.subarray(0, rows);
  const text = (codes: Uint32Array, values: readonly string[]) => ({ codes: codes.subarray(0, rows), values });
  const number = (numbers: Uint32Array) => ({ data: numbers.subarray(0, rows) });
  const wideNumber = ({ data }: Wide) => ({ data: data.subarray(0, rows) });
  fillTimes(columns, rows, axis);
  fillKnown(columns.stack, columns.hasStack, rows);
  fillKnown(columns.native, columns.hasNative, rows);
  const names = threadNames(columns, rows, nameOf);
  return {
    table: "allocation",
    rows,
    columns: {
      timestamp_ns: wideNumber(columns.birth),
      birth_error_ns: wideNumber(columns.birthError),
      death_ns: { ...wideNumber(columns.death), valid: part },
      death_error_ns: { ...wideNumber(columns.deathError), valid: part },
      pid: number(columns.pid.fill(pid)),
      thread: number(columns.thread),
      thread_name: text(columns.threadName, names),
      addr: wideNumber(columns.addr),
      size_bytes: wideNumber(columns.size),
      allocator: text(columns.allocator, ALLOCATORS),
      ended_by: text(columns.ending, ENDINGS),
      stack_id: { ...number(columns.stack), valid: columns.hasStack.subarray(0, rows) },
      native_stack_id: { ...number(columns.native), valid: columns.hasNative.subarray(0, rows) },
      birth_order: wideNumber(columns.birthOrder),
      death_order: { ...wideNumber(columns.deathOrder), valid: part },
    } satisfies EveryColumn<"allocation">,
  };
}

function fillTimes(columns: Columns, rows: number, axis: TimeAxis): void {
  const { birth, birthError, death, deathError } = columns;
  const bracket: Bracket = { time_ns: 0, error_ns: 0 };
  for (let row = 0; row < rows; row++) {
    axis.bracket(columns.birthInterval[row] ?? 0, bracket);
    put(birth.halves, row, bracket.time_ns);
    put(birthError.halves, row, bracket.error_ns);
    if (columns.ended[row] === 0) continue;
    axis.bracket(columns.deathInterval[row] ?? 0, bracket);
    put(death.halves, row, bracket.time_ns);
    put(deathError.halves, row, bracket.error_ns);
  }
}

/** Marks the numbers that are there; 0 is none. */
function fillKnown(numbers: Uint32Array, valid: Uint8Array, rows: number): void {
  for (let row = 0; row < rows; row++) valid[row] = numbers[row] === 0 ? 0 : 1;
}

/** Codes of the rows' threads, and the names that they stand for. */
function threadNames(
  { thread: threads, threadName: codes }: Columns,
  rows: number,
  nameOf: (thread: number) => string | null,
): string[] {
  const values: string[] = [];
  const codeOf = new Map<number, number>();
  let lastThread = -1;
  let lastCode = NULL_CODE;
  for (let row = 0; row < rows; row++) {
    const thread = threads[row] ?? 0;
    if (thread !== lastThread) {
      lastThread = thread;
      const code = codeOf.get(thread);
      const name = code === undefined ? nameOf(thread) : null;
      lastCode = code ?? (name === null ? NULL_CODE : values.push(name) - 1);
      codeOf.set(thread, lastCode);
    }
    codes[row] = lastCode;
  }
  return values;
}
