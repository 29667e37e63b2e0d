/** Where the fields of ggml's and llama.cpp's structures lie, by build; a build that is not listed is tried and checked. */
import { KNOWN_BUILDS } from "./known-builds.ts";

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
}

/** Bytes that are copied of each structure: all of what is read of it in any build; `node` is the head of a tensor. */
export const COPIED_BYTES = {
  tensor: 336,
  node: 96,
  buffer: 120,
  path: 1024,
  params: 192,
  graph: 64,
  position: 4,
} as const;

/** Byte offsets in llama_batch (llama.h). */
export const BATCH = { tokens: 0, positions: 24, sequenceCounts: 32, sequences: 40 } as const;

/** Byte offsets in input.Batch of Ollama 0.17.4 (model/input/input.go): two interfaces, then slices. */
export const GO_BATCH = { tokens: 40, positions: 32, sequenceCounts: null, sequences: 56 } as const;

/** Byte offsets in llama_context_params (llama.h). */
export interface ParamsLayout {
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
};

/** Compiled from the headers of llama.cpp v0.5.0; builds 10434, 11063 and 11549 gave back known arguments by the same. */
export const LLAMA_PARAMS: ParamsLayout = {
  contextTokens: 0,
  batchTokens: 4,
  sequences: 12,
  threads: 28,
  flashAttention: 52,
  typeK: 104,
  typeV: 108,
};

const GGML_LAYOUTS = { "ggml-0.25": GGML_LAYOUT } as const;
const PARAMS_LAYOUTS = { "llama.cpp-0.5": LLAMA_PARAMS } as const;

/** How a library was told to be a build whose offsets are known. */
export type LayoutEvidence = "build_id" | "soname" | "checked";

export interface LayoutChoice {
  /** Name of the build where it is known. */
  readonly build: string | null;
  readonly ggml: GgmlLayout;
  /** Null where the parameters' offsets are not known: they are left out then, never guessed. */
  readonly params: ParamsLayout | null;
  readonly evidence: LayoutEvidence;
}

/** Offsets for a library; those of an unknown build are the newest known, and every value read by them is checked anyway. */
export function chooseLayout(object: {
  readonly soname: string | null;
  readonly buildId: string | null;
}): LayoutChoice {
  const entry =
    KNOWN_BUILDS.find(({ buildId }) => buildId !== null && buildId === object.buildId) ??
    KNOWN_BUILDS.find(({ soname }) => soname !== null && soname === object.soname);
  if (entry === undefined) return { build: null, ggml: GGML_LAYOUT, params: null, evidence: "checked" };
  return {
    build: entry.build,
    ggml: GGML_LAYOUTS[entry.ggml],
    params: entry.params && PARAMS_LAYOUTS[entry.params],
    evidence: entry.buildId !== null && entry.buildId === object.buildId ? "build_id" : "soname",
  };
}
