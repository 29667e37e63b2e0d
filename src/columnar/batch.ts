/** A batch: equally long columns of one table, as typed arrays; strings dictionary-coded or plain. */
import type { TableName } from "../schema/columns.ts";

/** Strings of one column: `codes[i]` indexes `values`; the code 0xffffffff is null. */
export interface StringColumn {
  readonly codes: Uint32Array;
  readonly values: readonly string[];
}

/** A numeric column; `valid[i] === 0` marks a null, and no `valid` means that every row has a value. */
export interface NumberColumn {
  readonly data:
    | BigUint64Array
    | BigInt64Array
    | Uint32Array
    | Int32Array
    | Uint16Array
    | Uint8Array
    | Float64Array
    | Float32Array;
  readonly valid?: Uint8Array;
}

export type ColumnData = NumberColumn | StringColumn;
export const NULL_CODE = 0xffffffff;

/** `rows` rows of one table. A column that is absent is null in every row (and must be nullable). */
export interface Batch<T extends TableName = TableName> {
  readonly table: T;
  readonly rows: number;
  readonly columns: Readonly<Record<string, ColumnData>>;
}

/** True for a string column. */
export function isStringColumn(column: ColumnData): column is StringColumn {
  return "codes" in column;
}
