/** The batch of llama_decode and the parameters of a context, from raw bytes. */
import { recordLayout } from "../../schema/records.ts";
import { TENSOR_TYPES } from "../gguf/tensor-type.ts";
import { printableName } from "./decode-tensor.ts";
import { BATCH, COPIED_BYTES, type ParamsLayout } from "./offsets.ts";

export interface DecodedBatch {
  readonly n_tokens: number;
  /** Null where some token's sequences could not be read, or are beyond what is counted. */
  readonly n_sequences: number | null;
  /** Where there is one sequence. */
  readonly sequence_id: number | null;
  /** Least and greatest position; null where the batch leaves them to the engine, or they could not be read. */
  readonly position_first: number | null;
  readonly position_last: number | null;
  /** Bit i: sequence i is in the batch. */
  readonly sequence_mask: bigint;
}

const SUMMARY = recordLayout("engine_batch_summary");
const TOKEN_LIMIT = 2 ** 24;
const POSITION_LIMIT = 2 ** 30;
/** Bit of the structure in `unreadable`; that of the summary stands for some token's position or sequences. */
export const STRUCT_UNREADABLE = 2;

function countBits(mask: bigint): number {
  let n = 0;
  for (let rest = mask; rest !== 0n; rest >>= 1n) n += Number(rest & 1n);
  return n;
}

/** Decodes what the kernel program found in the arrays of a llama_batch, and the batch; null where it cannot be one. */
export function decodeBatch(payload: DataView, unreadable: number): DecodedBatch | null {
  if (payload.byteLength < SUMMARY.bytes + COPIED_BYTES.batch || (unreadable & STRUCT_UNREADABLE) !== 0) return null;
  const n_tokens = payload.getInt32(SUMMARY.bytes + BATCH.tokens, true);
  if (n_tokens < 0 || n_tokens > TOKEN_LIMIT) return null;
  const { offsets } = SUMMARY;
  const hasPositions = payload.getBigUint64(SUMMARY.bytes + BATCH.positions, true) !== 0n;
  const least = payload.getInt32(offsets.position_least, true);
  const greatest = payload.getInt32(offsets.position_greatest, true);
  const first = payload.getInt32(offsets.sequence_first, true);
  const tokensRead = payload.getUint32(offsets.tokens_read, true);
  const mask = payload.getBigUint64(offsets.sequence_mask, true);
  const beyond = payload.getUint32(offsets.sequences_beyond, true);
  const whole = unreadable === 0 && tokensRead === n_tokens && beyond === 0;
  const n_sequences = whole && n_tokens > 0 ? countBits(mask) : null;
  const plausible = least >= 0 && greatest >= least && greatest <= POSITION_LIMIT;
  const positions = whole && n_tokens > 0 && hasPositions && plausible && n_sequences === 1;
  return {
    n_tokens,
    n_sequences,
    sequence_id: n_sequences === 1 ? first : null,
    position_first: positions ? least : null,
    position_last: positions ? greatest : null,
    sequence_mask: whole ? mask : 0n,
  };
}

/** What a context was asked to be. `flash_attention` as asked: `auto` is decided by the engine. */
export interface ContextParams {
  readonly n_ctx: number;
  readonly n_batch: number;
  readonly n_seq_max: number;
  readonly n_threads: number;
  readonly flash_attention: "auto" | "off" | "on";
  readonly type_k: string;
  readonly type_v: string;
}

const FLASH = new Map([
  [-1, "auto"],
  [0, "off"],
  [1, "on"],
] as const);

/** Decodes llama_context_params; null where any value is impossible, which a wrong layout makes likely. */
export function decodeContextParams(payload: DataView, layout: ParamsLayout): ContextParams | null {
  if (payload.byteLength < COPIED_BYTES.params) return null;
  const u32 = (offset: number) => payload.getUint32(offset, true);
  const flash_attention = FLASH.get(payload.getInt32(layout.flashAttention, true) as 0);
  const type_k = TENSOR_TYPES.get(payload.getInt32(layout.typeK, true))?.name;
  const type_v = TENSOR_TYPES.get(payload.getInt32(layout.typeV, true))?.name;
  const params = {
    n_ctx: u32(layout.contextTokens),
    n_batch: u32(layout.batchTokens),
    n_seq_max: u32(layout.sequences),
    n_threads: payload.getInt32(layout.threads, true),
  };
  if (flash_attention === undefined || type_k === undefined || type_v === undefined) return null;
  if (params.n_ctx > TOKEN_LIMIT * 64 || params.n_batch === 0 || params.n_batch > TOKEN_LIMIT) return null;
  if (params.n_seq_max > 65536 || params.n_threads < -1 || params.n_threads > 65536) return null;
  return { ...params, flash_attention, type_k, type_v };
}

/** The path that a model is loaded from; null where it could not be read or is no text. */
export function decodePath(payload: DataView, unreadable: number): string | null {
  if (unreadable !== 0 || payload.byteLength < COPIED_BYTES.path) return null;
  const path = printableName(payload, 0, COPIED_BYTES.path);
  return path === "" ? null : path;
}
