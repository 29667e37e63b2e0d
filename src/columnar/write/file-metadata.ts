/** Metadata of the Parquet files of a table, without Arrow: it takes longer to load than a segment to encode. */
import type { TableName } from "../../schema/columns.ts";
import { tableMetadata } from "../../schema/versions.ts";
import ARROW_SCHEMAS from "../arrow/schema-messages.gen.json" with { type: "json" };

/** Schema version, table name, and the Arrow schema, which keeps unit and doc of each column. */
export function fileMetadata(table: TableName): ReadonlyMap<string, string> {
  return tableMetadata(table).set("ARROW:schema", ARROW_SCHEMAS[table]);
}
