/** Where the fields of ggml's and llama.cpp's structures lie in the builds that are known. */
import type { BatchOffsets } from "../probing/capture-plan.ts";

/** Byte offsets in ggml_backend_buffer. */
export interface BufferLayout {
  readonly context: number;
  readonly size: number;
  readonly usage: number;
}

/** Byte offsets in the structures of ggml (ggml.h, ggml-impl.h, ggml-backend-impl.h). */
export interface GgmlLayout {
  readonly name: string;
  readonly tensor: {
    readonly bytes: number;
    readonly type: number;
    readonly buffer: number;
    readonly ne: number;
    readonly nb: number;
    readonly op: number;
    readonly src: number;
    readonly srcCount: number;
    readonly viewSrc: number;
    readonly viewOffset: number;
    readonly data: number;
    readonly name: number;
    readonly nameBytes: number;
  };
  /** Of builds that are alike in all else: the one in which a tensor lies in its buffer is meant. */
  readonly buffers: readonly [newest: BufferLayout, ...older: BufferLayout[]];
  readonly graph: {
    readonly nodeCount: number;
    readonly leafCount: number;
    readonly nodes: number;
    readonly leafs: number;
  };
  /** Numbers of operations (ggml.h). */
  readonly operations: { readonly getRows: number; readonly setRows: number };
  /** Bytes that are copied of a graph, of the head of a tensor that is its node, and of a buffer, from `bufferFrom` on of one in which a tensor is placed. */
  readonly copied: {
    readonly graph: number;
    readonly node: number;
    readonly buffer: number;
    readonly bufferFrom: number;
  };
}

/** Bytes that are copied of what has no structure. */
export const COPIED_BYTES = { path: 1024, position: 4 } as const;

/** Byte offsets in llama_batch (llama.h). */
export const BATCH: BatchOffsets = { tokens: 0, positions: 24, sequenceCounts: 32, sequences: 40, logits: 48 } as const;

/** Byte offsets in input.Batch of Ollama 0.17.4 (model/input/input.go): two interfaces, then slices. */
export const GO_BATCH = { tokens: 40, positions: 32, sequenceCounts: null, sequences: 56, logits: null } as const;

/** Byte offsets in llama_context_params (llama.h). */
export interface ParamsLayout {
  /** Bytes that are copied. */
  readonly bytes: number;
  readonly contextTokens: number;
  readonly batchTokens: number;
  readonly sequences: number;
  readonly threads: number;
  readonly flashAttention: number;
  readonly typeK: number;
  readonly typeV: number;
}

/** Compiled from the headers of ggml 0.25.1; ggml 0.20.0 has the same. */
export const GGML_LAYOUT: GgmlLayout = {
  name: "ggml-0.25",
  tensor: {
    bytes: 336,
    type: 0,
    buffer: 8,
    ne: 16,
    nb: 48,
    op: 80,
    src: 152,
    srcCount: 10,
    viewSrc: 232,
    viewOffset: 240,
    data: 248,
    name: 256,
    nameBytes: 64,
  },
  buffers: [
    { context: 96, size: 104, usage: 112 },
    // Before the interface of buffers had two functions more, as in Ollama 0.17.4.
    { context: 80, size: 88, usage: 96 },
  ],
  graph: { nodeCount: 4, leafCount: 8, nodes: 16, leafs: 40 },
  operations: { getRows: 40, setRows: 42 },
  copied: { graph: 64, node: 96, buffer: 120, bufferFrom: 80 },
};

/** Compiled from the headers of llama.cpp v0.5.0; builds 10434, 11063 and 11549 gave back known arguments by the same. */
export const LLAMA_PARAMS: ParamsLayout = {
  bytes: 192,
  contextTokens: 0,
  batchTokens: 4,
  sequences: 12,
  threads: 28,
  flashAttention: 52,
  typeK: 104,
  typeV: 108,
};

/** All by which an object's probes copy, and their records are read. */
export interface Offsets {
  readonly ggml: GgmlLayout;
  readonly params: ParamsLayout;
  readonly batch: BatchOffsets;
}

export const NEWEST_KNOWN: Offsets = { ggml: GGML_LAYOUT, params: LLAMA_PARAMS, batch: BATCH };
