/** The cache of one layer, from the tensors of keys and values that its attention gets. */
import type { KvLayout } from "../../regions/kv-layout.ts";
import { TORCH, TORCH_FLOATS } from "../pytorch/torch-layout.ts";
import { COPIED, SHAPE_FROM } from "./probes.ts";

/** Memory that keeps keys, values or both of a layer's tokens, in blocks. */
export interface CachePlace {
  readonly part: "k" | "v" | "kv";
  readonly addr: bigint;
  readonly size_bytes: number;
  /** Elements of a token. */
  readonly elements: number;
  readonly layout: Extract<KvLayout, { form: "blocks" }>;
}

export interface LayerCache {
  readonly type: string;
  readonly blocks: number;
  readonly block_tokens: number;
  /** What torch allocated, in which it lies. */
  readonly storage: { readonly addr: bigint; readonly size_bytes: number };
  readonly places: readonly CachePlace[];
}

/** Also of bytes, as a quantised cache has. */
const TYPES = new Map([...TORCH_FLOATS, [0, { name: "u8", bytes: 1 }]]);
const DIMENSIONS = 4;
const MOST = 2 ** 46;
const MOST_BLOCK_TOKENS = 1024;

/** A whole number of 8 bytes that can be meant; NaN for another. */
function countAt(view: DataView, offset: number): number {
  const value = view.getBigInt64(offset, true);
  return value >= 0n && value <= MOST ? Number(value) : Number.NaN;
}

/**
 * Keys are [blocks, heads, tokens of a block, elements of a head], values likewise: in the same blocks behind the keys of each
 * head, or in blocks of their own elsewhere in the storage. How a block orders its tokens depends on the processor.
 * @returns null where the bytes are no such tensors: the build's layout is another one
 */
export function layerCache(payload: DataView): LayerCache | null {
  const { tensor, storage } = TORCH;
  const field = (offset: number): number => COPIED.shape + offset - SHAPE_FROM;
  const type = TYPES.get(payload.getUint16(field(tensor.type), true));
  const lists = (offset: number) =>
    Array.from({ length: DIMENSIONS }, (_, i) => countAt(payload, field(offset) + 8 * i));
  const [blocks = 0, heads = 0, block_tokens = 0, head_elements = 0] = lists(tensor.sizes);
  const [blockStride = 0, headStride = 0] = lists(tensor.strides);
  const data = payload.getBigUint64(COPIED.storage + storage.data, true);
  const storageBytes = countAt(payload, COPIED.storage + storage.bytes);
  const keysAt = countAt(payload, field(tensor.offset));
  const valuesAt = countAt(payload, COPIED.valuesOffset);
  if (type === undefined || countAt(payload, field(tensor.dimensions)) !== DIMENSIONS) return null;
  const elements = heads * head_elements;
  if (!(blocks > 0 && elements > 0 && block_tokens > 0 && block_tokens <= MOST_BLOCK_TOKENS && data > 0n)) return null;
  if (countAt(payload, field(tensor.elements)) !== blocks * elements * block_tokens) return null;
  const headRoom = block_tokens * head_elements;
  // Keys of one head lie together, those of the heads of a block one behind the other, and a block behind the one before.
  if (!(headStride >= headRoom && blockStride >= (heads - 1) * headStride + headRoom)) return null;
  if (payload.getBigUint64(COPIED.valuesData, true) !== data) return null;
  const extent = blocks * blockStride;
  const between = valuesAt - keysAt;
  const isTogether = between >= headRoom && headStride >= between + headRoom;
  if (!isTogether && !(Math.abs(between) >= extent)) return null;
  const end = Math.max(keysAt, isTogether ? keysAt : valuesAt) + extent;
  if (!(end * type.bytes <= storageBytes)) return null;
  const place = (part: CachePlace["part"], first: number, count: number): CachePlace => ({
    ...{ part, addr: data + BigInt(first * type.bytes), size_bytes: extent * type.bytes, elements: count },
    layout: { form: "blocks", row_bytes: count * type.bytes, block_tokens, block_bytes: blockStride * type.bytes },
  });
  const places = isTogether
    ? [place("kv", keysAt, 2 * elements)]
    : [place("k", keysAt, elements), place("v", valuesAt, elements)];
  return { type: type.name, blocks, block_tokens, storage: { addr: data, size_bytes: storageBytes }, places };
}
