/** The batch of llama_decode and the parameters of a context, from raw bytes. */
import { recordLayout } from "../../schema/records.ts";
import { ENGINE } from "../../schema/shared-numbers.ts";
import { TENSOR_TYPES } from "../gguf/tensor-type.ts";
import { printableName } from "./decode-tensor.ts";
import { COPIED_BYTES, type ParamsLayout } from "./offsets.ts";

/** Tokens of a batch, one behind the other, of the same sequences at ascending positions. */
export interface BatchRun {
  /** Ascending. */
  readonly sequences: readonly number[];
  /** Of the first of them; null where the batch leaves the positions to the engine. */
  readonly position: number | null;
  readonly tokens: number;
  /** How many of them, the last ones, ask for logits; null where that is not known. */
  readonly asking: number | null;
}

export interface DecodedBatch {
  readonly n_tokens: number;
  /** All tokens in their order; null where the sequences or the position of one of them are not known. */
  readonly runs: readonly BatchRun[] | null;
}

const HEAD = recordLayout("engine_batch");
const RUN = recordLayout("engine_batch_run");
const TOKEN_LIMIT = 2 ** 24;
const POSITION_LIMIT = 2 ** 30;

/** The sequences of a run; null where they are not all known. */
function sequencesOf(count: number, first: number, mask: bigint): readonly number[] | null {
  if (count === 1) return first >= 0 ? [first] : null;
  const sequences: number[] = [];
  for (let id = 0; id < 64; id++) if ((mask >> BigInt(id)) & 1n) sequences.push(id);
  return sequences.length === count ? sequences : null;
}

function runsOf(payload: DataView, n_tokens: number): BatchRun[] | null {
  const count = payload.getUint32(HEAD.offsets.runs, true);
  if (payload.getUint32(HEAD.offsets.tokens_held, true) !== n_tokens) return null;
  if (HEAD.bytes + count * RUN.bytes > payload.byteLength) return null;
  const hasPositions = payload.getUint16(HEAD.offsets.has_positions, true) !== 0;
  const hasLogits = payload.getUint16(HEAD.offsets.has_logits, true) !== 0;
  const runs: BatchRun[] = [];
  let held = 0;
  for (let i = 0; i < count; i++) {
    const start = HEAD.bytes + i * RUN.bytes;
    const { offsets } = RUN;
    const position = payload.getInt32(start + offsets.position, true);
    const tokens = payload.getUint32(start + offsets.tokens, true);
    const first = payload.getInt32(start + offsets.sequence, true);
    const mask = payload.getBigUint64(start + offsets.sequence_mask, true);
    const asking = payload.getUint16(start + offsets.asking, true);
    const ids = sequencesOf(payload.getUint16(start + offsets.sequences, true), first, mask);
    if (ids === null || tokens === 0 || asking > tokens) return null;
    if (hasPositions && (position < 0 || position + tokens > POSITION_LIMIT)) return null;
    held += tokens;
    runs.push({
      ...{ sequences: ids, position: hasPositions ? position : null, tokens },
      asking: hasLogits ? asking : null,
    });
  }
  return held === n_tokens ? runs : null;
}

/** Decodes what the kernel program found in a llama_batch and its arrays; null where it cannot be one. */
export function decodeBatch(payload: DataView, unreadable: number): DecodedBatch | null {
  if (payload.byteLength < HEAD.bytes + ENGINE.least_runs * RUN.bytes || unreadable !== 0) return null;
  const n_tokens = payload.getInt32(HEAD.offsets.n_tokens, true);
  if (n_tokens < 0 || n_tokens > TOKEN_LIMIT) return null;
  return { n_tokens, runs: runsOf(payload, n_tokens) };
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
  if (payload.byteLength < layout.bytes) return null;
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
