/** Record batches of a table as one Arrow table. */
import { type RecordBatch, Table } from "apache-arrow";
import type { TableName } from "../../schema/columns.ts";
import { type ArrowColumns, arrowSchema } from "./record-batches.ts";

/** Of no batches the schema is still known, and is that of the type. */
export function wholeTable<N extends TableName>(
  name: N,
  batches: readonly RecordBatch<ArrowColumns<N>>[],
): Table<ArrowColumns<N>> {
  return batches.length > 0
    ? new Table([...batches])
    : (new Table(arrowSchema(name)) as unknown as Table<ArrowColumns<N>>);
}
