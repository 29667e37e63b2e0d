/** The rows of the streams `tensor` and `step` as the engine makes them. */

/** One row of `tensor`, by column. */
export type TensorRow = {
  readonly timestamp_ns: bigint;
  readonly pid: number;
  readonly tid: number;
  readonly kind: "tensor" | "graph" | "buffer" | "usage" | "free" | "clear";
  readonly name: string | null;
  readonly tensor_type: string | null;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly shape: string | null;
  readonly buffer: bigint | null;
  readonly buffer_addr: bigint | null;
  readonly buffer_size_bytes: number | null;
  readonly usage: string | null;
  readonly region_type: string | null;
  readonly layer: number | null;
  readonly logical_id: string | null;
  readonly evidence: "engine_probe" | "engine_graph";
};

/** One row of `step`, by column. */
export type StepRow = {
  readonly timestamp_ns: bigint;
  readonly end_ns: bigint | null;
  readonly pid: number;
  readonly tid: number;
  readonly kind:
    | "model_load"
    | "context"
    | "decode"
    | "graph"
    | "kv_clear"
    | "kv_trim"
    | "model_free"
    | "context_free"
    | "engine"
    | "probes";
  readonly n_tokens: number | null;
  readonly n_sequences: number | null;
  readonly position_first: number | null;
  readonly sequence_id: number | null;
  readonly result: bigint | null;
  readonly detail: string | null;
};
