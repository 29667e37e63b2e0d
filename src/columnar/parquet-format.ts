/** Numbers of the Parquet format (github.com/apache/parquet-format, parquet.thrift), for what writes it and what reads it. */

export const MAGIC = new TextEncoder().encode("PAR1");
export const PHYSICAL = { BOOLEAN: 0, INT32: 1, INT64: 2, FLOAT: 4, DOUBLE: 5, BYTE_ARRAY: 6 } as const;
export const CONVERTED = { UTF8: 0 } as const;
export const ENCODING = { PLAIN: 0, PLAIN_DICTIONARY: 2, RLE: 3, DELTA_BINARY_PACKED: 5, RLE_DICTIONARY: 8 } as const;
export const PAGE = { DATA: 0, INDEX: 1, DICTIONARY: 2 } as const;
export const CODEC = { UNCOMPRESSED: 0, GZIP: 2, BROTLI: 4, ZSTD: 6 } as const;
