/** What the engine placed in memory and for how long; times as ns since the origin of the run. */
export interface TensorLife {
  readonly pid: number;
  readonly name: string | null;
  readonly addr: bigint;
  readonly size_bytes: number;
  /** Elements by dimension, fastest first; empty where not known. */
  readonly shape: readonly number[];
  readonly region_type: string | null;
  readonly layer: number | null;
  readonly logical_id: string | null;
  readonly evidence: string;
  /** First byte and length of the buffer it lies in, where known. */
  readonly buffer_addr: bigint | null;
  readonly buffer_size_bytes: number | null;
  readonly birth_ns: number;
  /** Infinity while it lives. */
  readonly death_ns: number;
  readonly birth_censored: boolean;
}
