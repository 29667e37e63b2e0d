/** The text of schema-messages.gen.json. */
import { RecordBatchStreamWriter } from "apache-arrow";
import { TABLES, type TableName } from "../../schema/columns.ts";
import { arrowSchema } from "./record-batches.ts";

/** Behind the schema in a stream: the mark of its end and a length of 0. */
const STREAM_END_BYTES = 8;

/** Arrow schema of every table by its name, as the base64 of its IPC message, which Parquet files carry. */
export function arrowSchemasJson(): string {
  const names = Object.keys(TABLES) as TableName[];
  return `${JSON.stringify(Object.fromEntries(names.map((table) => [table, schemaMessage(table)])), null, 2)}\n`;
}

function schemaMessage(table: TableName): string {
  const stream = new RecordBatchStreamWriter().reset(undefined, arrowSchema(table)).finish().toUint8Array(true);
  return Buffer.from(stream.subarray(0, stream.length - STREAM_END_BYTES)).toString("base64");
}
