/** Versions of what programs may rely on; readers refuse another major version. */

/** Version of every Parquet file we write, under this metadata key (the key of the Python package). */
export const SCHEMA_VERSION_KEY = "mrm_trace_schema_version";
export const PARQUET_SCHEMA_VERSION = "1.0";
/** Metadata key that names the table of a file. */
export const TABLE_KEY = "mrm_trace_table";
/** Version of the object that `--json` prints and of metadata.json. */
export const JSON_SCHEMA_VERSION = "2.1";

/** Metadata that every Parquet file of a table carries, in that of the file as in that of its Arrow schema. */
export function tableMetadata(table: string): Map<string, string> {
  return new Map([
    [SCHEMA_VERSION_KEY, PARQUET_SCHEMA_VERSION],
    [TABLE_KEY, table],
  ]);
}
