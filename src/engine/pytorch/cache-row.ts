/** How a part of a cache is told: which layer it is of, and where it lies from when on. */
import { type KvLayout, layoutColumns, UNKNOWN_LAYOUT } from "../../regions/kv-layout.ts";
import type { EngineRow, LiveTensor } from "../engine.ts";
import type { RawRecord } from "../probing/raw-record.ts";
import type { CacheTensor } from "./cache-tensor.ts";
import { ENGINE_NAME } from "./probes.ts";

/** What the column of a layout has room for. */
const MOST_BLOCK_BYTES = 2 ** 32 - 1;

/**
 * @param number among the parts of its cache: keys before values, layers in their order
 * @param layer of its model; null where that is not known, as others may be missing among these parts
 * @param form whether its block stays where it is, or is made anew for every pass
 */
export function cachePart(
  pid: number,
  part: CacheTensor,
  number: number,
  layer: number | null,
  form: "blocks" | "moved" = "blocks",
): LiveTensor {
  const { addr, size_bytes, type, element_bytes, sequences, heads, rows, head_elements } = part;
  const letter = number % 2 === 0 ? "k" : "v";
  const name = layer === null ? `cache_${letter}` : `cache_${letter}_l${layer}`;
  const elements = heads * head_elements;
  const row_bytes = elements * element_bytes;
  // Heads of a sequence lie one behind the other, each with its part of every row.
  const block = { row_bytes, block_tokens: rows, block_bytes: rows * row_bytes };
  const kv_layout: KvLayout = block.block_bytes <= MOST_BLOCK_BYTES ? { form, ...block } : UNKNOWN_LAYOUT;
  return {
    ...{ engine: ENGINE_NAME, pid, name, tensor_type: type, addr, size_bytes },
    ...{
      ne: [elements, sequences * rows],
      nb: [],
      region_type: "kv_cache",
      layer,
      logical_id: layer === null ? null : `layer${layer}.${letter}`,
    },
    ...{ kv_layout, drawn: true, is_alone: true },
  };
}

/** @param kind `graph` for what was there before it was seen, `tensor` for what was seen to come */
export function cacheRow(
  { name, tensor_type, addr, size_bytes, ne, layer, logical_id, kv_layout, pid }: LiveTensor,
  { storage }: CacheTensor,
  { timestamp_ns, tid }: Pick<RawRecord, "timestamp_ns" | "tid">,
  kind: "graph" | "tensor",
): EngineRow<"tensor"> {
  return {
    ...{ timestamp_ns, pid, tid, kind, name, tensor_type, addr },
    ...{ size_bytes: BigInt(size_bytes), shape: ne.join("x"), usage: "any" },
    ...{ buffer: storage.addr, buffer_addr: storage.addr, buffer_size_bytes: storage.size_bytes },
    ...{ region_type: "kv_cache", layer, logical_id, ...layoutColumns(kv_layout), evidence: "operand" },
  };
}
