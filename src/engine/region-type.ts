/** Classes of data that an engine can tell. */
export type RegionType = "weight" | "kv_cache" | "activation" | "runtime";
