/** Decoded allocations and frees, in the order of the file, as columns. */

export const CHUNK_RECORDS = 1 << 14;

/** The first `count` entries of each column are filled. */
export interface RecordChunk {
  count: number;
  /** Index of ALLOCATORS. */
  readonly allocator: Uint8Array;
  /** Address in bytes; exact, since no user address reaches 2^56 and all of that range are multiples of 8. */
  readonly address: Float64Array;
  /** Bytes; 0 for free and pymalloc_free. */
  readonly size: Float64Array;
  /** Thread as memray numbers them, modulo 2^32. */
  readonly thread: Uint32Array;
  /** Node of the call tree; 0 for none. */
  readonly stack: Uint32Array;
  /** Number of the native frame, modulo 2^32; 0 for none. */
  readonly native: Uint32Array;
}

/** An empty chunk. */
export function emptyChunk(records = CHUNK_RECORDS): RecordChunk {
  return {
    count: 0,
    allocator: new Uint8Array(records),
    address: new Float64Array(records),
    size: new Float64Array(records),
    thread: new Uint32Array(records),
    stack: new Uint32Array(records),
    native: new Uint32Array(records),
  };
}
