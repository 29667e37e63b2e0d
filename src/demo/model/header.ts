/** The bytes of a GGUF before its weights: header, key-values, tensor directory, padding. */

import { VALUE_TYPES } from "../../engine/gguf/value.ts";
import { type Shape, type TensorPlan, tensorPlans } from "./shape.ts";
import { BEGIN_TOKEN, END_TOKEN, UNKNOWN_TOKEN, vocabulary } from "./vocabulary.ts";
import { F32_TYPE_ID, type WeightType } from "./weight-type.ts";

const VERSION = 3;
const ALIGNMENT_BYTES = 32;

export interface PlacedTensor extends TensorPlan {
  /** From the start of the data. */
  readonly offset: number;
  readonly bytes: number;
}

/** The next multiple of the alignment. */
export function aligned(offset: number): number {
  return Math.ceil(offset / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
}

/** Where each tensor of the model lies, one behind the other. */
export function placeTensors(shape: Shape, type: WeightType): PlacedTensor[] {
  let offset = 0;
  return tensorPlans(shape).map((plan) => {
    const elements = plan.shape.reduce((product, n) => product * n, 1);
    const bytes = plan.role === "norm" ? elements * 4 : (elements / type.blockElements) * type.blockBytes;
    const placed = { ...plan, offset, bytes };
    offset = aligned(offset + bytes);
    return placed;
  });
}

function u32(value: number): Uint8Array {
  return new Uint8Array(new Uint32Array([value]).buffer);
}
function u64(value: number): Uint8Array {
  return new Uint8Array(new BigUint64Array([BigInt(value)]).buffer);
}
function text(value: string): Uint8Array[] {
  const bytes = new TextEncoder().encode(value);
  return [u64(bytes.length), bytes];
}
function typed(key: string, type: (typeof VALUE_TYPES)[number], ...value: Uint8Array[]): Uint8Array[] {
  return [...text(key), u32(VALUE_TYPES.indexOf(type)), ...value];
}
function array(key: string, element: (typeof VALUE_TYPES)[number], length: number, items: Uint8Array): Uint8Array[] {
  return typed(key, "array", u32(VALUE_TYPES.indexOf(element)), u64(length), items);
}
function string(key: string, value: string): Uint8Array[] {
  return typed(key, "string", ...text(value));
}
function int(key: string, value: number): Uint8Array[] {
  return typed(key, "u32", u32(value));
}
function float(key: string, value: number): Uint8Array[] {
  return typed(key, "f32", new Uint8Array(new Float32Array([value]).buffer));
}

function keyValues(name: string, shape: Shape, type: WeightType): Uint8Array[][] {
  const { tokens, types } = vocabulary(shape.vocabulary);
  return [
    string("general.architecture", "llama"),
    string("general.name", name),
    int("general.file_type", type.fileType),
    int("llama.block_count", shape.layers),
    int("llama.context_length", shape.context),
    int("llama.embedding_length", shape.embedding),
    int("llama.feed_forward_length", shape.feedForward),
    int("llama.attention.head_count", shape.heads),
    int("llama.attention.head_count_kv", shape.kvHeads),
    float("llama.attention.layer_norm_rms_epsilon", 1e-5),
    int("llama.rope.dimension_count", shape.embedding / shape.heads),
    float("llama.rope.freq_base", 10000),
    int("llama.vocab_size", shape.vocabulary),
    string("tokenizer.ggml.model", "llama"),
    array("tokenizer.ggml.tokens", "string", tokens.length, Buffer.concat(tokens.flatMap(text))),
    array("tokenizer.ggml.scores", "f32", tokens.length, new Uint8Array(tokens.length * 4)),
    array("tokenizer.ggml.token_type", "i32", tokens.length, new Uint8Array(types.buffer)),
    int("tokenizer.ggml.bos_token_id", BEGIN_TOKEN),
    int("tokenizer.ggml.eos_token_id", END_TOKEN),
    int("tokenizer.ggml.unknown_token_id", UNKNOWN_TOKEN),
  ];
}

function tensorInfo(tensor: PlacedTensor, type: WeightType): Uint8Array[] {
  return [
    ...text(tensor.name),
    u32(tensor.shape.length),
    ...tensor.shape.map(u64),
    u32(tensor.role === "norm" ? F32_TYPE_ID : type.tensorTypeId),
    u64(tensor.offset),
  ];
}

/** Everything before the first byte of the first tensor, padding included. @param name the file's `general.name` */
export function headerBytes(
  name: string,
  shape: Shape,
  type: WeightType,
  tensors: readonly PlacedTensor[],
): Uint8Array<ArrayBuffer> {
  const entries = keyValues(name, shape, type);
  const body = Buffer.concat([
    Buffer.from("GGUF"),
    u32(VERSION),
    u64(tensors.length),
    u64(entries.length),
    ...entries.flat(),
    ...tensors.flatMap((tensor) => tensorInfo(tensor, type)),
  ]);
  const padded = new Uint8Array(aligned(body.length));
  padded.set(body);
  return padded;
}
