/** Versions of what programs may rely on; readers refuse another major version. */

/** Version of every Parquet file we write, under this metadata key (the key of the Python package). */
export const SCHEMA_VERSION_KEY = "mrm_trace_schema_version";
export const PARQUET_SCHEMA_VERSION = "1.0";
/** Version of the object that `--json` prints and of metadata.json. */
export const JSON_SCHEMA_VERSION = "1.0";
