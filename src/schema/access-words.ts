/** The words of the access stream, in the order of their codes. */

export const OPS = ["load", "store", "load_store", "unknown"] as const;
export const SOURCES = ["pebs", "ibs", "spe", "clock", "watch", "import"] as const;
export const EVIDENCE = ["data_src", "event", "decoded", "none"] as const;
