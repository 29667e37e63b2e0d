/** Rows of the KV cache: one per token, layer and K or V, with its bytes and its life. */
import { type KvPlace, UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { TensorLifetime } from "../../regions/tensor-map.ts";
import type { StepRow } from "../timeline/step-row.ts";
import { type KvToken, kvTokens } from "./kv-tokens.ts";

/** Where a cache tensor keeps the row of a token. */
export interface KvTensor extends KvPlace {
  readonly pid: number;
  readonly engine: string | null;
  readonly name: string | null;
  readonly layer: number | null;
  readonly addr: bigint;
  readonly birth_ns: number;
  readonly death_ns: number;
}

/** Rows of the cache, in order of write, then of tensors. */
export interface KvRows {
  readonly tokens: readonly KvToken[];
  readonly tensors: readonly KvTensor[];
  readonly count: number;
  /** Positions of a row's token and of its tensor in the two lists. */
  readonly token: Uint32Array;
  readonly tensor: Uint32Array;
  /** 1 where traps on the row's bytes agree with the engine's steps. */
  readonly confirmed: Uint8Array;
}

/** When the row of a token left the cache: evicted, or with its tensor; null while it is there. */
export function evictedNs(token: KvToken, tensor: KvTensor): number | null {
  const ns = Math.min(token.evict_ns ?? Number.POSITIVE_INFINITY, tensor.death_ns);
  return Number.isFinite(ns) ? ns : null;
}

function shapeOf(text: string | null): number[] {
  const numbers = (text ?? "").split("x").map(Number);
  return numbers.every((n) => Number.isSafeInteger(n) && n > 0) ? numbers : [];
}

/** Cache tensors with a shape of at least two dimensions: [elements per token, tokens, streams]. */
function kvTensors(tensors: readonly TensorLifetime[], originNs: bigint): KvTensor[] {
  const out: KvTensor[] = [];
  for (const life of tensors) {
    const [elements, cells, ...outer] = shapeOf(life.shape);
    if (life.region_type !== "kv_cache" || elements === undefined || cells === undefined) continue;
    const rows = outer.reduce((product, n) => product * n, cells);
    const layout = life.kv_layout ?? UNKNOWN_LAYOUT;
    const row_bytes = layout.form === "paged" ? layout.row_bytes : Number(life.size_bytes) / rows;
    out.push({
      pid: life.pid,
      engine: life.engine,
      name: life.name,
      layer: life.layer,
      addr: life.addr,
      row_bytes,
      cells,
      layout,
      element_bytes: row_bytes / elements,
      birth_ns: Number(life.birth_ns - originNs),
      death_ns: life.death_ns === null ? Number.POSITIVE_INFINITY : Number(life.death_ns - originNs),
    });
  }
  return out;
}

/** Every row of the cache by the engine's steps; none is confirmed. */
export function kvRows(steps: readonly StepRow[], lifetimes: readonly TensorLifetime[], originNs: bigint): KvRows {
  const tensors = kvTensors(lifetimes, originNs);
  const tokens = kvTokens(steps);
  const isIn = ({ pid, engine, write_ns }: KvToken, tensor: KvTensor): boolean =>
    tensor.pid === pid && tensor.engine === engine && tensor.birth_ns <= write_ns && write_ns < tensor.death_ns;
  let count = 0;
  for (const token of tokens) for (const tensor of tensors) if (isIn(token, tensor)) count += 1;
  const rows = {
    tokens,
    tensors,
    count,
    token: new Uint32Array(count),
    tensor: new Uint32Array(count),
    confirmed: new Uint8Array(count),
  };
  let row = 0;
  for (const [t, token] of tokens.entries()) {
    for (const [k, tensor] of tensors.entries()) {
      if (!isIn(token, tensor)) continue;
      rows.token[row] = t;
      rows.tensor[row++] = k;
    }
  }
  return rows;
}
