/** What the encoder of Parquet files takes: the columns of a batch, and columns that follow from keys of the rows. */
import type { TableName } from "../../schema/columns.ts";
import type { ColumnData, NumberColumn } from "../batch.ts";
import type { RowKeys } from "../keys/row-keys.ts";

/** One column: a row's key k gives `values[codes[k]]`, and null where the code is behind their end. */
export interface KeyedColumn {
  readonly key: RowKeys;
  readonly codes: readonly number[];
  readonly values: readonly string[] | NumberColumn["data"];
}

export type EncodableColumn = ColumnData | KeyedColumn;

/** `rows` rows of one table; a column that is absent is null in every row. */
export interface Encodable {
  readonly table: TableName;
  readonly rows: number;
  readonly columns: Readonly<Record<string, EncodableColumn>>;
}
