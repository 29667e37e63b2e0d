/** Rows of the KV cache: one per token, layer and K or V, with its bytes and its life. */
import type { TensorLifetime } from "../regions/tensor-map.ts";
import { type KvToken, kvTokens } from "./kv-tokens.ts";
import type { StepRow } from "./step-row.ts";

/** Where a cache tensor keeps the row of a token. */
export interface KvTensor {
  readonly pid: number;
  readonly name: string | null;
  readonly layer: number | null;
  readonly addr: bigint;
  /** Bytes of one token's row. */
  readonly row_bytes: number;
  /** Rows that it has room for. */
  readonly cells: number;
  /**
   * rows: a token's bytes are contiguous. columns: V without flash attention, one element of each row of the tensor
   * belongs to the token, and the address is that of the first. unknown: V, and nothing told of flash attention.
   */
  readonly layout: "rows" | "columns" | "unknown";
  readonly element_bytes: number;
  readonly birth_ns: number;
  readonly death_ns: number;
}

export interface KvRow extends KvToken {
  readonly tensor: KvTensor;
  /** First byte; null where position or layout are not known. */
  readonly addr: bigint | null;
  readonly evidence: "step" | "watch";
}

function shapeOf(text: string | null): number[] {
  const numbers = (text ?? "").split("x").map(Number);
  return numbers.every((n) => Number.isSafeInteger(n) && n > 0) ? numbers : [];
}

function layoutOf(name: string | null, flashAttention: boolean | null): KvTensor["layout"] {
  if (!(name ?? "").startsWith("cache_v")) return "rows";
  if (flashAttention === null) return "unknown";
  return flashAttention ? "rows" : "columns";
}

/** Cache tensors with a shape of at least two dimensions: [elements per token, tokens, streams]. */
export function kvTensors(
  tensors: readonly TensorLifetime[],
  flashAttention: boolean | null,
  originNs: bigint,
): KvTensor[] {
  const out: KvTensor[] = [];
  for (const life of tensors) {
    const [elements, cells, ...outer] = shapeOf(life.shape);
    if (life.region_type !== "kv_cache" || elements === undefined || cells === undefined) continue;
    const rows = outer.reduce((product, n) => product * n, cells);
    const row_bytes = Number(life.size_bytes) / rows;
    out.push({
      pid: life.pid,
      name: life.name,
      layer: life.layer,
      addr: life.addr,
      row_bytes,
      cells,
      layout: layoutOf(life.name, flashAttention),
      element_bytes: row_bytes / elements,
      birth_ns: Number(life.birth_ns - originNs),
      death_ns: life.death_ns === null ? Number.POSITIVE_INFINITY : Number(life.death_ns - originNs),
    });
  }
  return out;
}

/** First byte of a position's row; null where it cannot be told. Holds for one sequence that fills the cache from its start. */
export function rowAddress(tensor: KvTensor, position: number | null): bigint | null {
  if (position === null || position >= tensor.cells || tensor.layout === "unknown") return null;
  const stride = tensor.layout === "rows" ? tensor.row_bytes : tensor.element_bytes;
  return tensor.addr + BigInt(Math.floor(position * stride));
}

/** Every row that the steps wrote, in order of write, then of tensors; evidence is `step` throughout. */
export function kvRows(
  steps: readonly StepRow[],
  tensors: readonly TensorLifetime[],
  flashAttention: boolean | null,
  originNs: bigint,
): KvRow[] {
  const caches = kvTensors(tensors, flashAttention, originNs);
  const rows: KvRow[] = [];
  for (const token of kvTokens(steps)) {
    for (const tensor of caches) {
      const lives = tensor.birth_ns <= token.write_ns && token.write_ns < tensor.death_ns;
      if (tensor.pid !== token.pid || !lives) continue;
      const death = Number.isFinite(tensor.death_ns) ? tensor.death_ns : null;
      const evict_ns = token.evict_ns === null ? death : Math.min(token.evict_ns, death ?? token.evict_ns);
      rows.push({ ...token, evict_ns, tensor, addr: rowAddress(tensor, token.position), evidence: "step" });
    }
  }
  return rows;
}
