/** Rows that a pass writes into a tensor that stays where it is, as a static cache of keys or values gets them: `index_copy_` along its tokens. */
import { recordLayout } from "../../schema/records.ts";
import { ENGINE, ENGINE_ROOM } from "../../schema/shared-numbers.ts";
import type { NumberOffsets } from "../probing/capture-plan.ts";
import { decodeTensor } from "./tensor-impl.ts";
import { TORCH, TORCH_FLOATS } from "./torch-layout.ts";

/** Where each part lies in the payload: the storage from its begin, its address, the tensor from its number of dimensions on. */
export const COPIED_WRITE = { storage: 0, storageAddress: 56, tensor: 64 } as const;
/** Bytes of these parts. */
export const WRITE_BYTES = { storage: 56, storageAddress: 8, tensor: 112 } as const;

/** Numbers of int and long (c10/core/ScalarType.h). */
const [INT, LONG] = [3, 4] as const;

/** How the kernel program finds the rows that are written. */
export const ROW_NUMBERS: NumberOffsets = {
  storage: TORCH.tensor.storage,
  strides: TORCH.tensor.strides,
  offset: TORCH.tensor.offset,
  elements: TORCH.tensor.elements,
  type: TORCH.tensor.type,
  data: TORCH.storage.data,
  narrowType: INT,
  wideType: LONG,
};

/** What torch allocated, by its own structure, which is looked at again to learn whether it is still there. */
export interface Storage {
  readonly structure: bigint;
  /** The first word of that structure, which is another one once it was given back. */
  readonly head: bigint;
  readonly addr: bigint;
  readonly size_bytes: bigint;
}

export interface CacheWrite {
  readonly storage: Storage;
  readonly addr: bigint;
  readonly size_bytes: number;
  readonly type: string;
  readonly element_bytes: number;
  /** Of the tensor: sequences, heads of each, rows of each head, elements of a row. */
  readonly sequences: number;
  readonly heads: number;
  readonly rows: number;
  readonly head_elements: number;
  /** The rows that are written, in every sequence. */
  readonly first: number;
  readonly count: number;
}

const HEAD = recordLayout("engine_indexes");
const RUN = recordLayout("engine_index_run");
const START = ENGINE_ROOM.compact;
/** Along which dimension of four a cache has its tokens. */
const TOKENS = 2;
const HOST = 0;
const MOST = 2 ** 46;
/** Behind the last address that a program can have. */
const SPACE_END = 2n ** 56n;

/** One run of rows; null where they do not follow each other, or could not be read. */
function writtenRows(payload: DataView): { readonly first: number; readonly count: number } | null {
  if (payload.byteLength < START + HEAD.bytes + ENGINE.row_runs * RUN.bytes) return null;
  const field = (name: keyof typeof HEAD.offsets): number => payload.getUint32(START + HEAD.offsets[name], true);
  if (field("runs") !== 1 || field("held") !== field("elements")) return null;
  const run = START + HEAD.bytes;
  const count = payload.getUint32(run + RUN.offsets.count, true);
  return count === field("elements") ? { first: payload.getUint32(run + RUN.offsets.first, true), count } : null;
}

/** The structure of a storage as it is now; null where it cannot be one. */
export function decodeStorage(bytes: DataView, from: number, structure: bigint): Storage | null {
  const word = (offset: number): bigint => bytes.getBigUint64(from + offset, true);
  const [head, addr, size_bytes] = [word(0), word(TORCH.storage.data), word(TORCH.storage.bytes)];
  return structure > 0n && addr > 0n && size_bytes > 0n ? { structure, head, addr, size_bytes } : null;
}

/**
 * @param dimension along which is written
 * @returns `other` for a write that none into a cache of [sequences, heads, tokens, elements] is; null where the bytes contradict each other
 */
export function decodeCacheWrite(payload: DataView, dimension: bigint): CacheWrite | "other" | null {
  // The parts begin at the number of dimensions, and the structure before that.
  const tensor = decodeTensor(payload, COPIED_WRITE.tensor - (TORCH.tensor.dimensions - TORCH.tensor.storage));
  if (tensor === null) return null;
  const { sizes, strides, elements, storageOffset } = tensor;
  const float = TORCH_FLOATS.get(tensor.type);
  const along = BigInt.asIntN(64, dimension);
  const isAlongTokens = along === BigInt(TOKENS) || along === BigInt(TOKENS - sizes.length);
  if (float === undefined || sizes.length !== 4 || elements === 0n || !isAlongTokens) return "other";
  if (tensor.device !== HOST) return "other";
  const [sequences = 0, heads = 0, rows = 0, head_elements = 0] = sizes.map(Number);
  const dense = [heads * rows * head_elements, rows * head_elements, head_elements, 1];
  if (!dense.every((stride, i) => sizes[i] === 1n || BigInt(stride) === strides[i])) return "other";
  const structure = payload.getBigUint64(COPIED_WRITE.storageAddress, true);
  const storage = decodeStorage(payload, COPIED_WRITE.storage, structure);
  const size_bytes = Number(elements) * float.bytes;
  const offset = storageOffset * BigInt(float.bytes);
  if (storage === null || size_bytes > MOST || storage.size_bytes < offset + BigInt(size_bytes)) return null;
  if (storage.addr + storage.size_bytes > SPACE_END || storage.size_bytes > SPACE_END) return null;
  const written = writtenRows(payload);
  if (written === null) return "other";
  if (written.first + written.count > rows) return null;
  const place = { storage, addr: storage.addr + offset, size_bytes, type: float.name, element_bytes: float.bytes };
  return { ...place, sequences, heads, rows, head_elements, ...written };
}
