/** Rows that are put behind those of a cache which moves for it: `cat` along the tokens, of what was there and what a pass adds. */
import { type CacheTensor, decodeCacheTensor, decodeStorage, STORAGE_BYTES, TOKENS } from "./cache-tensor.ts";
import { COPIED, decodeTensor } from "./tensor-impl.ts";
import { TORCH } from "./torch-layout.ts";

/** Where the list of tensors is copied from: what comes before is their address. */
export const LIST_SKIP = 8;

/** Bytes of each part that is copied: the list of tensors, the first of them up to its offset, the storage of the result, the result. */
export const APPEND_BYTES = {
  list: 12,
  first: TORCH.tensor.elements - TORCH.tensor.storage,
  storage: STORAGE_BYTES,
  into: COPIED.tensor.bytes,
} as const;

const FIRST = APPEND_BYTES.list;
const STORAGE = FIRST + APPEND_BYTES.first;
const INTO = STORAGE + APPEND_BYTES.storage;

export interface CacheAppend {
  /**
   * What was there, by the structure of its storage, its rows, and how many rows in front of them in that storage are none of it;
   * null where the cache begins with this.
   */
  readonly before: { readonly structure: bigint; readonly rows: number; readonly from: number } | null;
  /** Where all of it is from now on: the rows that were there are copied, and others come behind them. */
  readonly into: CacheTensor;
  /** How many these are. */
  readonly count: number;
}

/** In what is copied of the list (c10::IListRef): how many tensors it has, and of which kind it is: 0 for one behind the other. */
const LIST = { length: 0, kind: 8 } as const;

/** What was there; `nothing` for a tensor without elements, null for another shape than that of a part of the result. */
function rowsBefore(payload: DataView, into: CacheTensor): CacheAppend["before"] | "nothing" {
  const word = (offset: number): bigint => payload.getBigInt64(FIRST + offset - TORCH.tensor.storage, true);
  const size = (dimension: number): bigint => word(TORCH.tensor.sizes + 8 * dimension);
  const dimensions = word(TORCH.tensor.dimensions);
  if (dimensions === 1n && size(0) === 0n) return "nothing";
  if (dimensions !== 4n) return null;
  const { sequences, heads, rows, head_elements } = into;
  if ([sequences, heads, rows, head_elements].some((wanted, i) => i !== TOKENS && size(i) !== BigInt(wanted)))
    return null;
  if (size(TOKENS) === 0n) return "nothing";
  if (size(TOKENS) < 0n || size(TOKENS) >= BigInt(rows)) return null;
  const [structure, offset] = [BigInt.asUintN(64, word(TORCH.tensor.storage)), word(TORCH.tensor.offset)];
  if (structure === 0n || offset < 0n || offset % BigInt(head_elements) !== 0n) return null;
  return { structure, rows: Number(size(TOKENS)), from: Number(offset / BigInt(head_elements)) };
}

/** So many tensors joined along the tokens, one behind the other. */
const joins = (payload: DataView, dimension: bigint, tensors: bigint): boolean =>
  dimension === BigInt(TOKENS) &&
  payload.getBigUint64(LIST.length, true) === tensors &&
  payload.getUint32(LIST.kind, true) === 0;

/** What tensors were joined to, where that may be a part of a cache. */
function joinedTensor(payload: DataView): ReturnType<typeof decodeCacheTensor> {
  const tensor = decodeTensor(payload, INTO);
  if (tensor === null) return null;
  return decodeCacheTensor(tensor, decodeStorage(payload, STORAGE, payload.getBigUint64(INTO, true)));
}

/**
 * @param dimension along which the tensors are joined
 * @returns `other` for tensors that none of a cache are; null where the bytes contradict each other
 */
export function decodeCacheAppend(payload: DataView, dimension: bigint): CacheAppend | "other" | null {
  if (!joins(payload, dimension, 2n)) return "other";
  const into = joinedTensor(payload);
  if (into === null || into === "other") return into;
  const found = rowsBefore(payload, into);
  if (found === null) return "other";
  const before = found === "nothing" ? null : found;
  return { before, into, count: into.rows - (before?.rows ?? 0) };
}

/**
 * What attention gets of a cache most of which is kept quantised: that part as it was before, the rows since, and those of the pass.
 * Null for anything else.
 */
export function decodeJoinedRest(payload: DataView, dimension: bigint): CacheTensor | null {
  const into = joins(payload, dimension, 3n) ? joinedTensor(payload) : null;
  return into === "other" ? null : into;
}
