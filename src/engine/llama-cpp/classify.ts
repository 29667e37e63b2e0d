/** What a tensor is, by its name first and its buffer's usage second. */

import { COLUMNS, type KvLayout, ROWS, STATE, UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { DataClass, TensorUsage } from "../../schema/words.ts";

/** `cache_k_l0`, `cache_v_l12`, a tag between as in `cache_swa_k_l3`; `r` and `s` are the states of recurrent layers. */
const CACHE = /^cache_(?:\w+_)?([kvrs])_l(\d{1,6})$/;
/** `blk.3.`; where a model encodes and decodes, `enc.blk.3.` and `dec.blk.3.`. */
const BLOCK = /^(?:enc\.|dec\.)?blk\.(\d{1,6})\./;
/** Matrices of an adapter lie in a buffer of their own that has no usage. */
const WEIGHT = /\.(?:weight|bias|scale|input_scale|lora_[ab])$/;
const OF_LAYER = /-(\d{1,6})$/;

export interface TensorClass {
  /** Null where neither name nor usage tells. */
  readonly region_type: DataClass | null;
  readonly layer: number | null;
  /** What stays the same when the tensor moves: layer and K or V for a cache, the name for a weight. */
  readonly logical_id: string | null;
}

/**
 * Classifies a tensor. Name before usage, because the usage of repacked weights is still `any` when they are placed, and
 * that of the KV cache stays so.
 */
export function classify(name: string, usage: TensorUsage): TensorClass {
  const cache = CACHE.exec(name);
  if (cache) {
    const layer = Number(cache[2]);
    return { region_type: "kv_cache", layer, logical_id: `layer${layer}.${cache[1]}` };
  }
  const block = BLOCK.exec(name);
  if (WEIGHT.test(name) || usage === "weights") {
    return { region_type: "weight", layer: block ? Number(block[1]) : null, logical_id: name === "" ? null : name };
  }
  const layer = OF_LAYER.exec(name);
  return {
    region_type: usage === "compute" ? "activation" : null,
    layer: layer ? Number(layer[1]) : null,
    logical_id: null,
  };
}

/** True for a name that llama.cpp gives to a cache of any kind. */
export function isCacheName(name: string): boolean {
  return CACHE.test(name);
}

/** K or V when the name is that of an attention cache. */
export function cachePart(name: string): "k" | "v" | null {
  const part = CACHE.exec(name)?.[1];
  return part === "k" || part === "v" ? part : null;
}

/**
 * How a tensor keeps the row of a token; null for what is no cache. V is transposed without flash attention, and a
 * recurrent layer has one state for each sequence.
 * @param flash whether the last graph that used the tensor had flash attention; null before a graph was seen
 */
export function layoutOf(name: string, flash: boolean | null): KvLayout | null {
  const part = CACHE.exec(name)?.[1];
  if (part === undefined) return null;
  if (part === "k") return ROWS;
  if (part !== "v") return STATE;
  if (flash === null) return UNKNOWN_LAYOUT;
  return flash ? ROWS : COLUMNS;
}

const EXPERTS = /^blk\.\d{1,6}\.ffn_\w{1,32}_exps\.weight$/;

/** True for a tensor that holds the matrices of the experts of a mixture one behind the other. */
export function holdsExperts(name: string): boolean {
  return EXPERTS.test(name);
}

/** A table of embeddings is read by row: nearly every watch on it would see nothing. */
const TABLE = "token_embd.weight";
/** Of the output matrix, which is that table where a file has none. */
export const OUTPUT = "output.weight";

/** True for the table of embeddings, on which watches would be wasted unless all of it is read for something else. */
export function isTable(name: string): boolean {
  return name === TABLE;
}

/** Class of a whole buffer by its usage. */
export function classOfBuffer(usage: TensorUsage): DataClass | null {
  if (usage === "any") return null;
  return usage === "weights" ? "weight" : "activation";
}
