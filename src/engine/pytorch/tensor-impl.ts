/** A lookup of embeddings from raw bytes: the fields of c10::TensorImpl and c10::StorageImpl, believed where they agree with each other. */

/** Pointer to the storage, in TensorImpl (c10/core/TensorImpl.h). */
export const STORAGE_POINTER = 0x10;

/** Which bytes are copied of each structure, and where its fields lie in the copy; alike in torch 2.13 and 2.15. */
export const COPIED = {
  tensor: { from: 0x10, bytes: 0x98 },
  storage: { from: 0x10, bytes: 0x28 },
} as const;
const TENSOR = { dimensions: 0x28, sizes: 0x30, storageOffset: 0x80, elements: 0x88, type: 0x90 } as const;
const STORAGE = { data: 0, bytes: 0x20 } as const;

/** Dimensions that the structure holds itself; those of more lie elsewhere. */
const INLINE_DIMENSIONS = 5;
const ELEMENT_LIMIT = 2n ** 48n;
const TOKEN_LIMIT = 2n ** 24n;
/** Bytes of an element by the number of its type (c10/core/ScalarType.h): half, float, double, bfloat16. */
const FLOAT_BYTES: ReadonlyMap<number, bigint> = new Map([
  [5, 2n],
  [6, 4n],
  [7, 8n],
  [15, 2n],
]);
/** int and long. */
const INDEX_TYPES: ReadonlySet<number> = new Set([3, 4]);

export interface Lookup {
  /** The table of embeddings: its first byte, rows, and elements of a row. */
  readonly addr: bigint;
  readonly rows: bigint;
  readonly width: bigint;
  /** How many rows are looked up. */
  readonly tokens: number;
  /** Of the batch, where the indices have two dimensions; null where they do not tell it. */
  readonly sequences: number | null;
}

interface Tensor {
  readonly sizes: readonly bigint[];
  readonly elements: bigint;
  readonly storageOffset: bigint;
  readonly type: number;
}

/** Null for what cannot be a tensor. */
function decodeTensor(payload: DataView, start: number): Tensor | null {
  const word = (offset: number): bigint => payload.getBigInt64(start + offset, true);
  const dimensions = word(TENSOR.dimensions);
  if (dimensions < 0n || dimensions > INLINE_DIMENSIONS) return null;
  const sizes = Array.from({ length: Number(dimensions) }, (_, i) => word(TENSOR.sizes + 8 * i));
  const [elements, storageOffset] = [word(TENSOR.elements), word(TENSOR.storageOffset)];
  if (sizes.some((size) => size < 0n || size > ELEMENT_LIMIT)) return null;
  if (sizes.reduce((product, size) => product * size, 1n) !== elements || elements > ELEMENT_LIMIT) return null;
  if (storageOffset < 0n || storageOffset > ELEMENT_LIMIT) return null;
  return { sizes, elements, storageOffset, type: payload.getUint16(start + TENSOR.type, true) };
}

/** What a lookup is about: `nowhere` where its table has no memory, as while a program is only traced; null where the bytes contradict each other. */
export function decodeLookup(payload: DataView): Lookup | "nowhere" | null {
  const table = decodeTensor(payload, COPIED.storage.bytes);
  const indices = decodeTensor(payload, COPIED.storage.bytes + COPIED.tensor.bytes);
  if (table === null || indices === null) return null;
  const [rows, width, more] = table.sizes;
  const elementBytes = FLOAT_BYTES.get(table.type);
  if (rows === undefined || width === undefined || more !== undefined || elementBytes === undefined) return null;
  if (!INDEX_TYPES.has(indices.type) || indices.elements > TOKEN_LIMIT) return null;
  const data = payload.getBigUint64(STORAGE.data, true);
  if (data === 0n) return "nowhere";
  const bytes = payload.getBigInt64(STORAGE.bytes, true);
  if (bytes < (table.storageOffset + table.elements) * elementBytes) return null;
  const tokens = Number(indices.elements);
  const [sequences] = indices.sizes;
  return {
    addr: data + table.storageOffset * elementBytes,
    ...{ rows, width, tokens },
    sequences: indices.sizes.length === 2 && sequences !== undefined ? Number(sequences) : null,
  };
}
