/** Room for rows of a table: typed arrays by column that are filled row by row, handed over together and used again. */
import { columnsOf, type TableName } from "../schema/columns.ts";
import type { ColumnOf } from "../schema/row.ts";
import { ARRAY_TYPES } from "./arrays.ts";
import type { Batch, ColumnData, NumberColumn } from "./batch.ts";

type Typed = Record<keyof typeof ARRAY_TYPES, unknown>;
type ArrayOf<Type> = Type extends keyof Typed ? InstanceType<(typeof ARRAY_TYPES)[Type]> : Uint32Array;

/** By the names of the table, so that a loop may take the arrays that it fills and look nothing up. */
export interface ColumnRoom<T extends TableName> {
  readonly capacity: number;
  rows: number;
  /** Values; of a column of words the code of each (`codesOf`). */
  readonly data: { readonly [C in ColumnOf<T> as C["name"]]: ArrayOf<C["type"]> };
  /** The memory of 64-bit columns as pairs of 32-bit words, low word first. */
  readonly words: {
    readonly [C in Extract<ColumnOf<T>, { readonly type: "u64" | "i64" }> as C["name"]]: Uint32Array;
  };
  /** Of columns that may be null: 1 where the row has a value. */
  readonly valid: { readonly [C in Extract<ColumnOf<T>, { readonly nullable: true }> as C["name"]]: Uint8Array };
}

/** Empty arrays for `capacity` rows. A column of text that is no closed list has no room. */
export function columnRoom<T extends TableName>(table: T, capacity: number): ColumnRoom<T> {
  const columns = columnsOf(table).filter(({ type, words }) => type !== "string" || words !== undefined);
  const arrays = columns.map(({ name, type }): [string, NumberColumn["data"]] => [
    name,
    type === "string" ? new Uint32Array(capacity) : new ARRAY_TYPES[type](capacity),
  ]);
  const wide = arrays.filter(([, { BYTES_PER_ELEMENT }]) => BYTES_PER_ELEMENT === 8);
  const nullable = columns.filter((column) => column.nullable === true);
  // The table gives each name its array, which no type of a loop over it says.
  return {
    capacity,
    rows: 0,
    data: Object.fromEntries(arrays),
    words: Object.fromEntries(wide.map(([name, { buffer }]) => [name, new Uint32Array(buffer)])),
    valid: Object.fromEntries(nullable.map(({ name }) => [name, new Uint8Array(capacity)])),
  } as unknown as ColumnRoom<T>;
}

/**
 * The rows so far as a batch over the same memory: it must be copied before the next row comes.
 * @param without columns that no row has a value of
 */
export function roomBatch<T extends TableName>(
  table: T,
  room: ColumnRoom<T>,
  without: readonly (keyof ColumnRoom<T>["valid"])[] = [],
): Batch<T> {
  const { rows } = room;
  const data = room.data as Readonly<Record<string, NumberColumn["data"]>>;
  const valid = room.valid as Readonly<Record<string, Uint8Array>>;
  const columns: Record<string, ColumnData> = {};
  for (const { name, words } of columnsOf(table)) {
    const array = data[name];
    if (array === undefined || (without as readonly string[]).includes(name)) continue;
    const values = array.subarray(0, rows);
    const marks = valid[name]?.subarray(0, rows);
    if (words !== undefined) columns[name] = { codes: values as Uint32Array, values: Object.keys(words) };
    else columns[name] = marks === undefined ? { data: values } : { data: values, valid: marks };
  }
  return { table, rows, columns };
}
