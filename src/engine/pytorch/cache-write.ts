/** Rows that a pass writes into a tensor that stays where it is, as a static cache of keys or values gets them: `index_copy_` along its tokens. */
import { recordLayout } from "../../schema/records.ts";
import { ENGINE, ENGINE_ROOM } from "../../schema/shared-numbers.ts";
import type { NumberOffsets } from "../probing/capture-plan.ts";
import { type CacheTensor, decodeCacheTensor, decodeStorage, STORAGE_BYTES, TOKENS } from "./cache-tensor.ts";
import { decodeTensor } from "./tensor-impl.ts";
import { TORCH, TORCH_FLOATS } from "./torch-layout.ts";

/** Where each part lies in the payload: the storage from its begin, its address, the tensor from its number of dimensions on. */
export const COPIED_WRITE = { storage: 0, storageAddress: 56, tensor: 64 } as const;
/** Bytes of these parts. */
export const WRITE_BYTES = { storage: STORAGE_BYTES, storageAddress: 8, tensor: 112 } as const;

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

export interface CacheWrite extends CacheTensor {
  /** The rows that are written, in every sequence. */
  readonly first: number;
  readonly count: number;
}

const HEAD = recordLayout("engine_indexes");
const RUN = recordLayout("engine_index_run");
const START = ENGINE_ROOM.compact;

const PACKED_DIMENSIONS = 3;

/** One run of rows; null where they do not follow each other, or could not be read. */
function writtenRows(payload: DataView): { readonly first: number; readonly count: number } | null {
  if (payload.byteLength < START + HEAD.bytes + ENGINE.least_runs * RUN.bytes) return null;
  const field = (name: keyof typeof HEAD.offsets): number => payload.getUint32(START + HEAD.offsets[name], true);
  if (field("runs") !== 1 || field("held") !== field("elements")) return null;
  const run = START + HEAD.bytes;
  const count = payload.getUint32(run + RUN.offsets.count, true);
  return count === field("elements") ? { first: payload.getUint32(run + RUN.offsets.first, true), count } : null;
}

/**
 * True of a write of so many tokens into a cache of [tokens, heads, elements], as one has in which the tokens of several sequences lie
 * behind each other (continuous batching).
 */
export function isPackedWrite(payload: DataView, dimension: bigint, tokens: number): boolean {
  const tensor = decodeTensor(payload, COPIED_WRITE.tensor - (TORCH.tensor.dimensions - TORCH.tensor.storage));
  if (tensor?.sizes.length !== PACKED_DIMENSIONS || !TORCH_FLOATS.has(tensor.type)) return false;
  const along = BigInt.asIntN(64, dimension);
  const elements = payload.getUint32(START + HEAD.offsets.elements, true);
  return (along === 0n || along === BigInt(-PACKED_DIMENSIONS)) && elements === tokens;
}

/**
 * @param dimension along which is written
 * @returns `other` for a write that none into a cache of [sequences, heads, tokens, elements] is; null where the bytes contradict each other
 */
export function decodeCacheWrite(payload: DataView, dimension: bigint): CacheWrite | "other" | null {
  // The parts begin at the number of dimensions, and the structure before that.
  const tensor = decodeTensor(payload, COPIED_WRITE.tensor - (TORCH.tensor.dimensions - TORCH.tensor.storage));
  if (tensor === null) return null;
  const along = BigInt.asIntN(64, dimension);
  if (along !== BigInt(TOKENS) && along !== BigInt(TOKENS - tensor.sizes.length)) return "other";
  const structure = payload.getBigUint64(COPIED_WRITE.storageAddress, true);
  const cache = decodeCacheTensor(tensor, decodeStorage(payload, COPIED_WRITE.storage, structure));
  if (cache === null || cache === "other") return cache;
  const written = writtenRows(payload);
  if (written === null) return "other";
  return written.first + written.count > cache.rows ? null : { ...cache, ...written };
}
