/** What kind of step each call is. */
import type { WordOf } from "../../../schema/row.ts";
import { PROBE } from "../probes.ts";
import { newestOf } from "./older-calls.ts";

const KIND_OF = new Map<number, WordOf<"step", "kind">>([
  [PROBE.model_load, "model_load"],
  [PROBE.context_init, "context"],
  [PROBE.decode, "decode"],
  [PROBE.process, "decode"],
  [PROBE.encode, "encode"],
  [PROBE.graph_compute, "graph"],
  [PROBE.memory_clear, "kv_clear"],
  [PROBE.memory_seq_rm, "kv_trim"],
  [PROBE.memory_seq_cp, "kv_copy"],
  [PROBE.memory_seq_keep, "kv_keep"],
  [PROBE.memory_seq_add, "kv_shift"],
  [PROBE.memory_seq_div, "kv_divide"],
  [PROBE.restore, "kv_restore"],
  [PROBE.restore_file, "kv_restore"],
  [PROBE.restore_seq, "kv_restore"],
  [PROBE.restore_seq_part, "kv_restore"],
  [PROBE.restore_seq_file, "kv_restore"],
  [PROBE.model_free, "model_free"],
  [PROBE.context_free, "context_free"],
]);

/** The kind of step that a probe is of; undefined for one that is of none. */
export const kindOf = (probe: number): WordOf<"step", "kind"> | undefined => KIND_OF.get(newestOf(probe));

/** Calls that fill a batch which a program hands over later. */
export const FILLS: ReadonlySet<number> = new Set([
  PROBE.batch_add,
  PROBE.batch_add_seq,
  PROBE.batch_set_pos,
  PROBE.batch_ask,
  PROBE.batch_empty,
]);
/** Calls of Ollama's own engine. */
export const OF_GO: ReadonlySet<number> = new Set([PROBE.go_forward, PROBE.go_cache, PROBE.go_remove, PROBE.go_copy]);
/** Calls that restore what all sequences had. */
export const OF_ALL: ReadonlySet<number> = new Set([PROBE.restore, PROBE.restore_file]);
/** Calls that are told of once they return. */
export const RETURNS: ReadonlySet<number> = new Set([
  PROBE.model_load,
  PROBE.context_init,
  PROBE.decode,
  PROBE.process,
  PROBE.encode,
]);
/** Calls that may hand their batch on to llama_process. */
export const HANDING_ON = [PROBE.decode, PROBE.encode] as const;
