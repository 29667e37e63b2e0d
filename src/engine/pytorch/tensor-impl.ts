/** What operators are given, from raw bytes: the fields of c10::TensorImpl and c10::StorageImpl, believed where they agree with each other. */

import { TORCH, TORCH_FLOATS } from "./torch-layout.ts";

/** Which bytes are copied of each structure. */
export const COPIED = {
  tensor: { from: TORCH.tensor.storage, bytes: 0x98 },
  storage: { from: TORCH.storage.data, bytes: 0x28 },
} as const;

/** Where a field lies in the copy of a tensor, and in that of a storage, which comes first. */
const ofTensor = (field: keyof typeof TORCH.tensor): number => TORCH.tensor[field] - COPIED.tensor.from;
const ofStorage = (field: keyof typeof TORCH.storage): number => TORCH.storage[field] - COPIED.storage.from;

/** Dimensions that the structure holds itself; those of more lie elsewhere. */
const INLINE_DIMENSIONS = 5;
const ELEMENT_LIMIT = 2n ** 48n;
const TOKEN_LIMIT = 2n ** 24n;
/** Number of the kind of device whose memory is that of the process (c10/core/DeviceType.h). */
const HOST = 0;
/** int and long. */
const INDEX_TYPES: ReadonlySet<number> = new Set([3, 4]);

/** A matrix of whole rows, one behind the other in memory, or of whole columns. */
export interface Matrix {
  /** Its first byte. */
  readonly addr: bigint;
  readonly rows: bigint;
  /** Elements of a row. */
  readonly width: bigint;
  readonly bytes: bigint;
  readonly type: string;
  /** False where its rows are a part of longer ones. */
  readonly isDense: boolean;
  /** False where it lies on a device. */
  readonly isInMemory: boolean;
}

export interface Lookup {
  readonly table: Matrix;
  /** How many rows are looked up. */
  readonly tokens: number;
  /** Of the batch, where the indices have two dimensions; null where they do not tell it. */
  readonly sequences: number | null;
}

export interface Tensor {
  readonly sizes: readonly bigint[];
  readonly strides: readonly bigint[];
  readonly elements: bigint;
  readonly storageOffset: bigint;
  readonly type: number;
  readonly device: number;
}

/** Null for what cannot be a tensor. @param start of the copy, or where it would begin if it were whole */
export function decodeTensor(payload: DataView, start: number): Tensor | null {
  const word = (offset: number): bigint => payload.getBigInt64(start + offset, true);
  const dimensions = word(ofTensor("dimensions"));
  if (dimensions < 0n || dimensions > INLINE_DIMENSIONS) return null;
  const words = (offset: number) => Array.from({ length: Number(dimensions) }, (_, i) => word(offset + 8 * i));
  const [sizes, strides] = [words(ofTensor("sizes")), words(ofTensor("strides"))];
  const [elements, storageOffset] = [word(ofTensor("elements")), word(ofTensor("offset"))];
  if (sizes.some((size) => size < 0n || size > ELEMENT_LIMIT)) return null;
  if (sizes.reduce((product, size) => product * size, 1n) !== elements || elements > ELEMENT_LIMIT) return null;
  if (storageOffset < 0n || storageOffset > ELEMENT_LIMIT) return null;
  const [type, device] = [
    payload.getUint16(start + ofTensor("type"), true),
    payload.getUint8(start + ofTensor("device")),
  ];
  return { sizes, strides, elements, storageOffset, type, device };
}

/** The matrix of a storage and a tensor; `nowhere` where it has no memory, as while a program is only traced; null where the bytes contradict each other. */
export function decodeMatrix(payload: DataView): Matrix | "nowhere" | null {
  const tensor = decodeTensor(payload, COPIED.storage.bytes);
  if (tensor === null) return null;
  const { sizes, strides, elements, storageOffset, device } = tensor;
  const [rows, width, more] = sizes;
  const float = TORCH_FLOATS.get(tensor.type);
  if (rows === undefined || width === undefined || more !== undefined || float === undefined) return null;
  const data = payload.getBigUint64(ofStorage("data"), true);
  if (data === 0n) return "nowhere";
  const elementBytes = BigInt(float.bytes);
  if (payload.getBigInt64(ofStorage("bytes"), true) < (storageOffset + elements) * elementBytes) return null;
  const [down, across] = strides;
  const isDense = (down === width && across === 1n) || (down === 1n && across === rows);
  const place = { addr: data + storageOffset * elementBytes, bytes: elements * elementBytes };
  return { ...place, rows, width, type: float.name, isDense, isInMemory: device === HOST };
}

/** What a lookup is about; what is no lookup of a matrix is told as by `decodeMatrix`. */
export function decodeLookup(payload: DataView): Lookup | "nowhere" | null {
  const table = decodeMatrix(payload);
  const indices = decodeTensor(payload, COPIED.storage.bytes + COPIED.tensor.bytes);
  if (table === null || indices === null) return null;
  if (!INDEX_TYPES.has(indices.type) || indices.elements > TOKEN_LIMIT) return null;
  if (table === "nowhere") return table;
  const [sequences] = indices.sizes;
  const isBatch = indices.sizes.length === 2 && sequences !== undefined;
  return { table, tokens: Number(indices.elements), sequences: isBatch ? Number(sequences) : null };
}
