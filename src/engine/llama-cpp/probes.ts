/** The functions of llama.cpp, ggml and Ollama's own engine that are probed, and what the kernel program copies at each. */
import type { EngineObject, EngineProbe, Presence } from "../engine.ts";
import { type Captures, capturesOf } from "./captures.ts";
import { chooseLayout, copiedBy } from "./layout-choice.ts";

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
  scheduled: 34,
  lookup: 35,
  go_begin: 36,
  go_draw: 37,
  batch_ask: 38,
  older_clear: 39,
  older_seq_rm: 40,
  older_seq_cp: 41,
  older_seq_keep: 42,
  older_seq_add: 43,
  older_seq_div: 44,
  restore_file: 45,
} as const;
export type Probe = (typeof PROBE)[keyof typeof PROBE];

const PLACES: ReadonlySet<number> = new Set([
  PROBE.tensor_alloc,
  PROBE.buffer_alloc,
  PROBE.buffer_init,
  PROBE.buffer_free,
  PROBE.buffer_usage,
]);

/** True of probes that tell where tensors lie: how many steps there were is known without them. */
export const tellsPlaces = (probe: number): boolean => PLACES.has(probe);

export interface ProbePoint {
  readonly symbol: string;
  readonly probe: Probe;
  /** What is copied at entry; null where entry is not probed. */
  readonly entry: keyof Captures | null;
  /** What is copied at return; null where return is not probed. */
  readonly ret: keyof Captures | null;
  /** When it is there; always where absent. */
  readonly presence?: Presence;
  /** The same of its return alone. */
  readonly returnPresence?: Presence;
  /** True where it stands in for a function that is not found in a stripped program of Go. */
  readonly isSubstitute?: true;
}

function point(symbol: string, probe: Probe, entry: keyof Captures | null, ret: keyof Captures | null): ProbePoint {
  return { symbol, probe, entry, ret };
}

/**
 * A buffer becomes known by three ways, because a compiler may inline one: the allocation's return, the constructor's
 * return, and each tensor placed in it. Rows are made once. The constructor's arguments say where the buffer is and how
 * large without any structure.
 */
const GGML_POINTS: readonly ProbePoint[] = [
  { ...point("ggml_backend_tensor_alloc", PROBE.tensor_alloc, "tensor", null), presence: "rests" },
  point("ggml_backend_buft_alloc_buffer", PROBE.buffer_alloc, null, "buffer"),
  point("ggml_backend_buffer_init", PROBE.buffer_init, "none", "buffer"),
  point("ggml_backend_buffer_free", PROBE.buffer_free, "buffer", null),
  point("ggml_backend_buffer_set_usage", PROBE.buffer_usage, "buffer", null),
  point("ggml_backend_buffer_clear", PROBE.buffer_clear, "buffer", null),
  { ...point("ggml_compute_forward_get_rows", PROBE.lookup, "lookup", null), presence: "onRequest" },
  { ...point("ggml_graph_compute", PROBE.graph_compute, "graph", "none"), returnPresence: "graphSteps" },
  point("llama_model_load_from_file", PROBE.model_load, "path", "none"),
  point("llama_model_load_from_splits", PROBE.model_load, "none", "none"),
  point("llama_model_init_from_user", PROBE.model_load, "none", "none"),
  point("llama_init_from_model", PROBE.context_init, "params", "none"),
  point("llama_decode", PROBE.decode, "batch", "none"),
  point("llama_encode", PROBE.encode, "batch", "none"),
  point("llama_process", PROBE.process, "none", "none"),
  point("llama_batch_ext_init", PROBE.batch_empty, null, "none"),
  point("llama_batch_ext_clear", PROBE.batch_empty, "none", null),
  point("llama_batch_ext_free", PROBE.batch_empty, "none", null),
  point("llama_batch_ext_add", PROBE.batch_add, "none", null),
  point("llama_batch_ext_add_token", PROBE.batch_add, "none", null),
  point("llama_batch_ext_add_embd", PROBE.batch_add, "none", null),
  point("llama_batch_ext_add_seq", PROBE.batch_add_seq, "none", null),
  point("llama_batch_ext_set_pos", PROBE.batch_set_pos, "position", null),
  point("llama_batch_ext_set_output_logits", PROBE.batch_ask, "none", null),
  point("llama_memory_clear", PROBE.memory_clear, "none", null),
  point("llama_memory_seq_rm", PROBE.memory_seq_rm, "none", "none"),
  point("llama_memory_seq_cp", PROBE.memory_seq_cp, "none", null),
  point("llama_memory_seq_keep", PROBE.memory_seq_keep, "none", null),
  point("llama_memory_seq_add", PROBE.memory_seq_add, "none", null),
  point("llama_memory_seq_div", PROBE.memory_seq_div, "none", null),
  point("llama_get_memory", PROBE.get_memory, "none", "none"),
  point("llama_state_set_data", PROBE.restore, "none", "none"),
  point("llama_state_load_file", PROBE.restore_file, "none", "none"),
  point("llama_state_seq_set_data", PROBE.restore_seq, "none", "none"),
  point("llama_state_seq_set_data_ext", PROBE.restore_seq_part, "none", "none"),
  point("llama_state_seq_load_file", PROBE.restore_seq_file, "none", "none"),
  point("llama_model_free", PROBE.model_free, "none", null),
  point("llama_free", PROBE.context_free, "none", null),
];

/** What is called by newer names now, and was handed a context in place of its memory. The names were both there for a time. */
const OLDER_CHANGES: readonly ProbePoint[] = [
  ...["llama_kv_self", "llama_kv_cache"].flatMap((prefix) => [
    point(`${prefix}_clear`, PROBE.older_clear, "none", "none"),
    point(`${prefix}_seq_rm`, PROBE.older_seq_rm, "none", "none"),
    point(`${prefix}_seq_cp`, PROBE.older_seq_cp, "none", "none"),
    point(`${prefix}_seq_keep`, PROBE.older_seq_keep, "none", "none"),
    point(`${prefix}_seq_add`, PROBE.older_seq_add, "none", "none"),
    point(`${prefix}_seq_div`, PROBE.older_seq_div, "none", "none"),
  ]),
  point("llama_kv_cache_seq_shift", PROBE.older_seq_add, "none", "none"),
];

const OLDER_POINTS: readonly ProbePoint[] = [
  ...OLDER_CHANGES,
  point("llama_set_state_data", PROBE.restore, "none", "none"),
  point("llama_load_session_file", PROBE.restore_file, "none", "none"),
];

const OLLAMA = "github.com/ollama/ollama";

/**
 * Functions of Ollama's own engine, which calls ggml and not llama.cpp. A return is never probed: Go moves its stacks. Where
 * its batch lies on the stack is known for x86-64.
 */
const GO_POINTS: readonly ProbePoint[] =
  process.arch === "x64"
    ? [
        point(`${OLLAMA}/model.Forward`, PROBE.go_forward, "goBatch", null),
        point(`${OLLAMA}/kvcache.(*Causal).Init`, PROBE.go_cache, "goArguments", null),
        point(`${OLLAMA}/kvcache.(*Causal).Remove`, PROBE.go_remove, "goArguments", null),
        point(`${OLLAMA}/kvcache.(*Causal).CopyPrefix`, PROBE.go_copy, "goArguments", null),
        // Where each runner begins a step and draws a token from its logits; symbols of what calls C have an ending.
        point(`${OLLAMA}/llama.(*Context).Decode`, PROBE.go_begin, "none", null),
        point(`${OLLAMA}/llama._Cfunc_common_sampler_csample`, PROBE.go_draw, "none", null),
        point(`${OLLAMA}/llama._Cfunc_common_sampler_csample.abi0`, PROBE.go_draw, "none", null),
        point(`${OLLAMA}/runner/ollamarunner.(*Server).computeBatch.deferwrap2`, PROBE.go_begin, "none", null),
        point(`${OLLAMA}/sample.(*Sampler).Sample`, PROBE.go_draw, "none", null),
      ]
    : [];

/** Go hands a graph to the scheduler, and never to what computes it, which so has no name that is left in a stripped program. */
const SUBSTITUTES: readonly ProbePoint[] = [
  {
    ...point("ggml_backend_sched_graph_compute_async", PROBE.scheduled, "scheduledGraph", "none"),
    isSubstitute: true,
  },
];

export const PROBE_POINTS: readonly ProbePoint[] = [...GGML_POINTS, ...OLDER_POINTS, ...GO_POINTS, ...SUBSTITUTES];

/**
 * True of a library that changes a cache by one of those names. Until August 2025, when the last of them went, llama.cpp closed holes in a
 * cache by moving rows, for some weeks in builds whose graphs name the cells that they write; and until June the positions that a batch left
 * to it were those behind all sequences, or behind the first.
 */
export function hasOlderNames(object: Pick<EngineObject, "symbol">): boolean {
  return OLDER_CHANGES.some(({ symbol }) => object.symbol(symbol)?.type === "function");
}

/** Probes of those functions that the object has. */
export function probesOf(object: EngineObject): EngineProbe[] {
  const probes: EngineProbe[] = [];
  const captures = capturesOf(copiedBy(chooseLayout(object)));
  for (const { symbol, probe, entry, ret, isSubstitute, presence, returnPresence = presence } of PROBE_POINTS) {
    const found = object.symbol(symbol);
    if (found?.type !== "function" || found.fileOffset === null) continue;
    if (isSubstitute && !found.isByGo) continue;
    const offset = BigInt(found.fileOffset);
    const add = (isReturn: boolean, capture: keyof Captures | null, when: Presence | undefined): void => {
      if (capture === null) return;
      const there = when === undefined ? {} : { presence: when };
      probes.push({ symbol, offset, probe, isReturn, capture: captures[capture], ...there });
    };
    add(true, ret, returnPresence);
    add(false, entry, presence);
  }
  return probes;
}
