/** The functions of llama.cpp, ggml and Ollama's own engine that are probed, and what the kernel program copies at each. */
import type { EngineObject, EngineProbe } from "../engine.ts";
import { type CapturePlan, capturePlan } from "../probing/capture-plan.ts";
import { BATCH, COPIED_BYTES, GGML_LAYOUT, GO_BATCH } from "./offsets.ts";
import { PLACED_PARTS } from "./placed-pieces.ts";
import { indexOffsets } from "./written-cells.ts";

export const ENGINE_NAME = "llama.cpp";

/** Probe numbers, as they travel in the cookie. */
export const PROBE = {
  tensor_alloc: 1,
  buffer_alloc: 2,
  buffer_init: 3,
  buffer_free: 4,
  buffer_usage: 5,
  buffer_clear: 6,
  graph_compute: 7,
  model_load: 8,
  context_init: 9,
  decode: 10,
  memory_clear: 11,
  memory_seq_rm: 12,
  model_free: 13,
  context_free: 14,
  get_memory: 15,
  memory_seq_cp: 16,
  memory_seq_keep: 17,
  memory_seq_add: 18,
  memory_seq_div: 19,
  restore: 20,
  restore_seq: 21,
  restore_seq_part: 22,
  restore_seq_file: 23,
  process: 24,
  batch_add: 25,
  batch_add_seq: 26,
  batch_set_pos: 27,
  batch_empty: 28,
  go_forward: 29,
  go_cache: 30,
  go_remove: 31,
  go_copy: 32,
  encode: 33,
} as const;
export type Probe = (typeof PROBE)[keyof typeof PROBE];

export interface ProbePoint {
  readonly symbol: string;
  readonly probe: Probe;
  /** What is copied at entry; null where entry is not probed. */
  readonly entry: CapturePlan | null;
  /** What is copied at return; null where return is not probed. */
  readonly ret: CapturePlan | null;
  /** True where it is taken away while a process places the same tensors at the same addresses again and again. */
  readonly rests?: boolean;
}

const BUFFER = { form: "bytes", from: 0, bytes: COPIED_BYTES.buffer } as const;

/** What is copied. A buffer is always the first part. */
export const CAPTURE = {
  none: capturePlan(),
  /** The buffer at argument 0, or the one returned. */
  buffer: capturePlan(BUFFER),
  tensor: capturePlan(...PLACED_PARTS),
  path: capturePlan({ form: "string", from: 0, bytes: COPIED_BYTES.path }),
  /** What the arrays of llama_batch hold, which is passed by value. */
  batch: capturePlan({ form: "batch", offsets: BATCH }),
  /** A position, which argument 2 points to. */
  position: capturePlan({ form: "bytes", from: 2, bytes: COPIED_BYTES.position }),
  /** llama_context_params, passed by value. */
  params: capturePlan({ form: "bytes", from: "structure", bytes: COPIED_BYTES.params }),
  /** What Ollama's own engine hands to a forward pass, by value. */
  goBatch: { ...capturePlan({ form: "batch", offsets: GO_BATCH }), isGo: true },
  goArguments: { ...capturePlan(), isGo: true },
  /** A graph, the head of its first node, and the rows of the cache that it writes. */
  graph: capturePlan(
    { form: "bytes", from: 0, bytes: COPIED_BYTES.graph },
    { form: "bytes", from: 0, bytes: COPIED_BYTES.node, follow: [GGML_LAYOUT.graph.nodes, 0] },
    { form: "indexes", offsets: indexOffsets(GGML_LAYOUT) },
  ),
} as const;

function point(symbol: string, probe: Probe, entry: CapturePlan | null, ret: CapturePlan | null): ProbePoint {
  return { symbol, probe, entry, ret };
}

/**
 * A buffer becomes known by three ways, because a compiler may inline one: the allocation's return, the constructor's
 * return, and each tensor placed in it. Rows are made once. The constructor's arguments say where the buffer is and how
 * large without any structure.
 */
const GGML_POINTS: readonly ProbePoint[] = [
  { ...point("ggml_backend_tensor_alloc", PROBE.tensor_alloc, CAPTURE.tensor, null), rests: true },
  point("ggml_backend_buft_alloc_buffer", PROBE.buffer_alloc, null, CAPTURE.buffer),
  point("ggml_backend_buffer_init", PROBE.buffer_init, CAPTURE.none, CAPTURE.buffer),
  point("ggml_backend_buffer_free", PROBE.buffer_free, CAPTURE.buffer, null),
  point("ggml_backend_buffer_set_usage", PROBE.buffer_usage, CAPTURE.buffer, null),
  point("ggml_backend_buffer_clear", PROBE.buffer_clear, CAPTURE.buffer, null),
  point("ggml_graph_compute", PROBE.graph_compute, CAPTURE.graph, CAPTURE.none),
  point("llama_model_load_from_file", PROBE.model_load, CAPTURE.path, CAPTURE.none),
  point("llama_model_load_from_splits", PROBE.model_load, CAPTURE.none, CAPTURE.none),
  point("llama_model_init_from_user", PROBE.model_load, CAPTURE.none, CAPTURE.none),
  point("llama_init_from_model", PROBE.context_init, CAPTURE.params, CAPTURE.none),
  point("llama_decode", PROBE.decode, CAPTURE.batch, CAPTURE.none),
  point("llama_encode", PROBE.encode, CAPTURE.batch, CAPTURE.none),
  point("llama_process", PROBE.process, CAPTURE.none, CAPTURE.none),
  point("llama_batch_ext_init", PROBE.batch_empty, null, CAPTURE.none),
  point("llama_batch_ext_clear", PROBE.batch_empty, CAPTURE.none, null),
  point("llama_batch_ext_free", PROBE.batch_empty, CAPTURE.none, null),
  point("llama_batch_ext_add", PROBE.batch_add, CAPTURE.none, null),
  point("llama_batch_ext_add_token", PROBE.batch_add, CAPTURE.none, null),
  point("llama_batch_ext_add_embd", PROBE.batch_add, CAPTURE.none, null),
  point("llama_batch_ext_add_seq", PROBE.batch_add_seq, CAPTURE.none, null),
  point("llama_batch_ext_set_pos", PROBE.batch_set_pos, CAPTURE.position, null),
  point("llama_memory_clear", PROBE.memory_clear, CAPTURE.none, null),
  point("llama_memory_seq_rm", PROBE.memory_seq_rm, CAPTURE.none, null),
  point("llama_memory_seq_cp", PROBE.memory_seq_cp, CAPTURE.none, null),
  point("llama_memory_seq_keep", PROBE.memory_seq_keep, CAPTURE.none, null),
  point("llama_memory_seq_add", PROBE.memory_seq_add, CAPTURE.none, null),
  point("llama_memory_seq_div", PROBE.memory_seq_div, CAPTURE.none, null),
  point("llama_get_memory", PROBE.get_memory, CAPTURE.none, CAPTURE.none),
  point("llama_state_set_data", PROBE.restore, CAPTURE.none, null),
  point("llama_state_load_file", PROBE.restore, CAPTURE.none, null),
  point("llama_state_seq_set_data", PROBE.restore_seq, CAPTURE.none, null),
  point("llama_state_seq_set_data_ext", PROBE.restore_seq_part, CAPTURE.none, null),
  point("llama_state_seq_load_file", PROBE.restore_seq_file, CAPTURE.none, null),
  point("llama_model_free", PROBE.model_free, CAPTURE.none, null),
  point("llama_free", PROBE.context_free, CAPTURE.none, null),
];

const OLLAMA = "github.com/ollama/ollama";

/**
 * Functions of Ollama's own engine, which calls ggml and not llama.cpp. A return is never probed: Go moves its stacks. Where
 * its batch lies on the stack is known for x86-64.
 */
const GO_POINTS: readonly ProbePoint[] =
  process.arch === "x64"
    ? [
        point(`${OLLAMA}/model.Forward`, PROBE.go_forward, CAPTURE.goBatch, null),
        point(`${OLLAMA}/kvcache.(*Causal).Init`, PROBE.go_cache, CAPTURE.goArguments, null),
        point(`${OLLAMA}/kvcache.(*Causal).Remove`, PROBE.go_remove, CAPTURE.goArguments, null),
        point(`${OLLAMA}/kvcache.(*Causal).CopyPrefix`, PROBE.go_copy, CAPTURE.goArguments, null),
      ]
    : [];

export const PROBE_POINTS: readonly ProbePoint[] = [...GGML_POINTS, ...GO_POINTS];

/** Probes of those functions that the object has. */
export function probesOf(object: EngineObject): EngineProbe[] {
  const probes: EngineProbe[] = [];
  for (const { symbol, probe, entry, ret, rests } of PROBE_POINTS) {
    const found = object.symbol(symbol);
    if (found?.type !== "function" || found.fileOffset === null) continue;
    const offset = BigInt(found.fileOffset);
    const place = { symbol, offset, probe, ...(rests === undefined ? {} : { rests }) };
    if (ret !== null) probes.push({ ...place, isReturn: true, capture: ret });
    if (entry !== null) probes.push({ ...place, isReturn: false, capture: entry });
  }
  return probes;
}
