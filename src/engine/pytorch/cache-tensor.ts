/** A tensor that may hold keys or values of a layer, [sequences, heads, tokens, elements] without gaps, and the memory that it is in. */
import type { ReadMemory } from "../engine.ts";
import type { Tensor } from "./tensor-impl.ts";
import { TORCH, TORCH_FLOATS } from "./torch-layout.ts";

/** Bytes of the structure of a storage that are copied, from its begin. */
export const STORAGE_BYTES = 56;

/** What torch allocated, by its own structure, which is looked at again to learn whether it is still there. */
export interface Storage {
  readonly structure: bigint;
  /** The first word of that structure, which is another one once it was given back. */
  readonly head: bigint;
  readonly addr: bigint;
  readonly size_bytes: bigint;
}

export interface CacheTensor {
  readonly storage: Storage;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly type: string;
  readonly element_bytes: number;
  /** Sequences, heads of each, rows of each head, elements of a row. */
  readonly sequences: number;
  readonly heads: number;
  readonly rows: number;
  readonly head_elements: number;
}

/** Along which dimension of four a cache has its tokens. */
export const TOKENS = 2;
const HOST = 0;
const MOST = 2 ** 46;
/** Behind the last address that a program can have. */
const SPACE_END = 2n ** 56n;

/** The structure of a storage as it is now; null where it cannot be one. */
export function decodeStorage(bytes: DataView, from: number, structure: bigint): Storage | null {
  const word = (offset: number): bigint => bytes.getBigUint64(from + offset, true);
  const [head, addr, size_bytes] = [word(0), word(TORCH.storage.data), word(TORCH.storage.bytes)];
  return structure > 0n && addr > 0n && size_bytes > 0n ? { structure, head, addr, size_bytes } : null;
}

/** False where its structure is another one now, or is not there any more. */
export function isThere(storage: Storage, read: ReadMemory): boolean {
  const bytes = read(storage.structure, STORAGE_BYTES);
  if (bytes === null) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const now = decodeStorage(view, 0, storage.structure);
  return now?.head === storage.head && now.addr === storage.addr && now.size_bytes === storage.size_bytes;
}

/**
 * @param storage null where its structure cannot be one
 * @returns `other` for a tensor that none of a cache is; null where the bytes contradict each other
 */
export function decodeCacheTensor(tensor: Tensor, storage: Storage | null): CacheTensor | "other" | null {
  const { sizes, strides, elements, storageOffset } = tensor;
  const float = TORCH_FLOATS.get(tensor.type);
  if (float === undefined || sizes.length !== 4 || elements === 0n || tensor.device !== HOST) return "other";
  const [sequences = 0, heads = 0, rows = 0, head_elements = 0] = sizes.map(Number);
  const dense = [heads * rows * head_elements, rows * head_elements, head_elements, 1];
  if (!dense.every((stride, i) => sizes[i] === 1n || BigInt(stride) === strides[i])) return "other";
  const size_bytes = Number(elements) * float.bytes;
  const offset = storageOffset * BigInt(float.bytes);
  if (storage === null || size_bytes > MOST || storage.size_bytes < offset + BigInt(size_bytes)) return null;
  if (storage.addr + storage.size_bytes > SPACE_END || storage.size_bytes > SPACE_END) return null;
  const place = { storage, addr: storage.addr + offset, size_bytes, type: float.name, element_bytes: float.bytes };
  return { ...place, sequences, heads, rows, head_elements };
}
