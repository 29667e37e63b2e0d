/**
 * Arrays of batches on their way to another thread, which gets those in shared memory once and knows them by a number
 * after that: a thread that is given megabytes with every message looks through its heap as often.
 */
import type { TableName } from "../../schema/columns.ts";
import { type Batch, type ColumnData, isStringColumn } from "../batch.ts";

/** An array of any element type. */
type Elements = ArrayBufferView;

/** What stands for an array: itself where its memory is not shared; else its number, and itself when it is new. */
type Lent = Elements | { readonly number: number; readonly array: Elements } | number;

type LentColumn =
  | { readonly codes: Lent; readonly values: readonly string[] }
  | { readonly data: Lent; readonly valid?: Uint8Array };

/** A batch whose arrays are lent; made to be sent. */
export interface LentBatch {
  readonly table: TableName;
  readonly rows: number;
  readonly columns: Readonly<Record<string, LentColumn>>;
  /** Numbers of arrays that nobody here has any more, and that will not come again. */
  readonly gone: readonly number[];
}

/** The lender's side. */
export function arrayLender(): (batch: Batch) => LentBatch {
  const numbers = new WeakMap<Elements, number>();
  let last = 0;
  let gone: number[] = [];
  const dropped = new FinalizationRegistry((number: number) => gone.push(number));
  const lend = (array: Elements): Lent => {
    if (!(array.buffer instanceof SharedArrayBuffer)) return array;
    const cached = numbers.get(array);
    if (cached !== undefined) return cached;
    numbers.set(array, ++last);
    dropped.register(array, last);
    return { number: last, array };
  };
  const column = (given: ColumnData): LentColumn => {
    if (isStringColumn(given)) return { codes: lend(given.codes), values: given.values };
    // The marks of values are made anew for every batch: a number would only keep them over there.
    return { ...given, data: lend(given.data) };
  };
  return ({ table, rows, columns }) => {
    const forgotten = gone;
    gone = [];
    const lent = Object.entries(columns).map(([name, given]): [string, LentColumn] => [name, column(given)]);
    return { table, rows, columns: Object.fromEntries(lent), gone: forgotten };
  };
}

/**
 * The borrower's side: makes batches of what the lender sent, in the order in which it did.
 * @throws Error where a number comes before its array
 */
export function arrayBorrower(): (batch: LentBatch) => Batch {
  const arrays = new Map<number, Elements>();
  const find = (lent: Lent): Elements => {
    if (typeof lent === "number") {
      const sentArray = arrays.get(lent);
      if (sentArray === undefined) throw new Error(`array ${lent} was never sent`);
      return sentArray;
    }
    if (!("number" in lent)) return lent;
    arrays.set(lent.number, lent.array);
    return lent.array;
  };
  const column = (lentData: LentColumn): ColumnData => {
    if ("codes" in lentData) return { codes: find(lentData.codes) as Uint32Array, values: lentData.values };
    return { ...lentData, data: find(lentData.data) as Uint32Array };
  };
  return ({ table, rows, columns, gone }) => {
    for (const number of gone) arrays.delete(number);
    const found = Object.entries(columns).map(([name, lentColumn]): [string, ColumnData] => [name, column(lentColumn)]);
    return { table, rows, columns: Object.fromEntries(found) };
  };
}
