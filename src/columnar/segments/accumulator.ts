/**
 * Rows of one table gathered from many small batches into columns that grow, until they are taken as one segment.
 * The columns are shared memory: another thread reads them where they are, and they are used again after it.
 */
import { type Column, columnsOf, type TableName } from "../../schema/columns.ts";
import { ARRAY_TYPES } from "../arrays.ts";
import { type Batch, type ColumnData, isStringColumn, NULL_CODE, type NumberColumn } from "../batch.ts";
import { assertFits } from "../fit.ts";

const FIRST_CAPACITY_ROWS = 1024;

type Numbers = NumberColumn["data"];

interface NumberStore {
  readonly kind: "number";
  readonly column: Column;
  data: Numbers;
  /** Present from the first null of the segment on. */
  valid: Uint8Array | null;
}

interface StringStore {
  readonly kind: "string";
  readonly column: Column;
  codes: Uint32Array;
  values: string[];
  codeOf: Map<string, number>;
  textBytes: number;
}

type Store = NumberStore | StringStore;

/** Gathers rows; appended batches are copied, so their arrays may be reused at once. */
export interface Accumulator {
  readonly rows: number;
  /** Memory of the arrays that `take` would hand over. */
  readonly bytes: number;
  /** Length of the distinct strings, two bytes for each UTF-16 unit. */
  readonly textBytes: number;
  /** Copies rows `from .. to-1` of a batch. @throws MrmTraceError failure when it does not fit the table */
  append(batch: Batch, from: number, end: number): void;
  /** The gathered rows, whose arrays now belong to the caller and may be longer than `rows`; begins anew. */
  take(): Batch;
  /** Gives arrays back for reuse, once a taken batch is done with. */
  recycle(batch: Batch): void;
}

/** An empty accumulator for one table. */
export function openAccumulator(table: TableName): Accumulator {
  let stores = columnsOf(table).map((column) => emptyStore(column, 0));
  let rows = 0;
  let capacity = 0;
  let spare: Batch | null = null;

  function begin(): void {
    const used = spare;
    spare = null;
    stores = columnsOf(table).map((column) => emptyStore(column, FIRST_CAPACITY_ROWS, used?.columns[column.name]));
    capacity = Math.min(...stores.map((store) => (store.kind === "number" ? store.data : store.codes).length));
    rows = 0;
  }

  return {
    get rows() {
      return rows;
    },
    get bytes() {
      return stores.reduce((sum, store) => sum + bytesOf(store), 0);
    },
    get textBytes() {
      return stores.reduce((sum, store) => sum + (store.kind === "string" ? store.textBytes : 0), 0);
    },
    append(batch, from, end) {
      for (const { column } of stores) {
        const data = batch.columns[column.name];
        if (data !== undefined) assertFits(table, column, data, end);
      }
      if (capacity === 0) begin();
      const needed = rows + end - from;
      if (needed > capacity) {
        while (capacity < needed) capacity *= 2;
        for (const store of stores) grow(store, capacity, rows);
      }
      for (const store of stores) copy(store, batch.columns[store.column.name], from, end, rows, capacity);
      rows = needed;
    },
    take() {
      const columns = Object.fromEntries(stores.map((store) => [store.column.name, columnOf(store)]));
      const taken: Batch = { table, rows, columns };
      capacity = 0;
      rows = 0;
      return taken;
    },
    recycle(batch) {
      spare = batch;
    },
  };
}

function emptyStore(column: Column, capacity: number, used?: ColumnData): Store {
  if (column.type === "string") {
    const fits = used !== undefined && isStringColumn(used) && used.codes.length >= capacity;
    const codes = fits ? used.codes : shared(Uint32Array, capacity);
    return { kind: "string", column, codes, values: [], codeOf: new Map(), textBytes: 0 };
  }
  const fits = used !== undefined && !isStringColumn(used) && used.data.length >= capacity;
  const data = fits ? used.data : shared<Numbers>(ARRAY_TYPES[column.type], capacity);
  return { kind: "number", column, data, valid: null };
}

/** Bytes that a row takes of one column, the mark of a value included where it may be null. */
export function bytesPerRow({ type, nullable }: Column): number {
  if (type === "string") return Uint32Array.BYTES_PER_ELEMENT;
  return ARRAY_TYPES[type].BYTES_PER_ELEMENT + (nullable === true ? 1 : 0);
}

interface ArrayType<T> {
  new (buffer: SharedArrayBuffer): T;
  readonly BYTES_PER_ELEMENT: number;
}

function shared<T>(type: ArrayType<T>, length: number): T {
  return new type(new SharedArrayBuffer(length * type.BYTES_PER_ELEMENT));
}

function bytesOf(store: Store): number {
  if (store.kind === "string") return store.codes.byteLength;
  return store.data.byteLength + (store.valid?.byteLength ?? 0);
}

function columnOf(store: Store): ColumnData {
  if (store.kind === "string") return { codes: store.codes, values: store.values };
  return store.valid === null ? { data: store.data } : { data: store.data, valid: store.valid };
}

function grow(store: Store, capacity: number, rows: number): void {
  if (store.kind === "string") {
    const codes = shared(Uint32Array, capacity);
    codes.set(store.codes.subarray(0, rows));
    store.codes = codes;
    return;
  }
  const data = shared(store.data.constructor as Uint8ArrayConstructor, capacity);
  data.set(store.data.subarray(0, rows) as Uint8Array);
  store.data = data;
  if (store.valid === null) return;
  const valid = shared(Uint8Array, capacity);
  valid.set(store.valid.subarray(0, rows));
  store.valid = valid;
}

function copy(
  store: Store,
  source: ColumnData | undefined,
  from: number,
  stop: number,
  start: number,
  capacity: number,
): void {
  if (store.kind === "string") {
    if (source === undefined) store.codes.fill(NULL_CODE, start, start + stop - from);
    else if (isStringColumn(source)) copyStrings(store, source.codes, source.values, from, stop, start);
    return;
  }
  const given = source !== undefined && !isStringColumn(source) ? source : null;
  const valid = given === null ? undefined : given.valid;
  if (given !== null) store.data.set(given.data.subarray(from, stop) as never, start);
  if (given !== null && valid === undefined) {
    store.valid?.fill(1, start, start + stop - from);
    return;
  }
  store.valid ??= shared(Uint8Array, capacity).fill(1, 0, start);
  if (valid) store.valid.set(valid.subarray(from, stop), start);
  else store.valid.fill(0, start, start + stop - from);
}

function copyStrings(
  store: StringStore,
  codes: Uint32Array,
  values: readonly string[],
  from: number,
  end: number,
  offset: number,
): void {
  const remap = new Uint32Array(values.length);
  let same = true;
  for (const [code, value] of values.entries()) {
    let mapped = store.codeOf.get(value);
    if (mapped === undefined) {
      mapped = store.values.push(value) - 1;
      store.codeOf.set(value, mapped);
      store.textBytes += value.length * 2;
    }
    remap[code] = mapped;
    same &&= mapped === code;
  }
  if (same) {
    store.codes.set(codes.subarray(from, end), offset);
    return;
  }
  for (let row = from; row < end; row++) {
    store.codes[offset + row - from] = remap[codes[row] ?? NULL_CODE] ?? NULL_CODE;
  }
}
