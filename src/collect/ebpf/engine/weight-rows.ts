/** Tensors of a file that is mapped: where each lies in memory, and the rows of the capture that say so. */
import type { LiveTensor } from "../../../engine/engine.ts";
import { layerOfParameter, SAFETENSORS } from "../../../engine/safetensors/file.ts";
import type { NamedTensor } from "../../../engine/tensor-file.ts";
import { nullsOf, type RowOf } from "../../../schema/row.ts";
import type { AddressRange, FileExtent } from "./file-extents.ts";

/** The part of a tensor that an extent of its file holds; null where it holds none. */
function placeOf({ offset, bytes }: NamedTensor, extent: FileExtent): AddressRange | null {
  const begin = BigInt(offset) - extent.file_offset_bytes;
  const end = begin + BigInt(bytes ?? 0);
  const from = begin > 0n ? begin : 0n;
  const until = end < extent.size_bytes ? end : extent.size_bytes;
  return until > from ? { addr: extent.addr + from, size_bytes: until - from } : null;
}

/** The tensors of which an extent holds bytes. */
export function tensorsIn(extent: FileExtent, tensors: readonly NamedTensor[]): LiveTensor[] {
  return tensors.flatMap((tensor) => {
    const place = placeOf(tensor, extent);
    if (place === null) return [];
    return {
      engine: SAFETENSORS,
      pid: extent.pid,
      name: tensor.name,
      tensor_type: tensor.type,
      addr: place.addr,
      size_bytes: Number(place.size_bytes),
      ne: tensor.shape,
      nb: [],
      region_type: "weight",
      layer: layerOfParameter(tensor.name),
      logical_id: tensor.name,
      kv_layout: null,
      drawn: true,
      is_alone: true,
    };
  });
}

function rowOf({ pid, addr, size_bytes }: FileExtent, timestamp_ns: bigint) {
  const nothing = { ...nullsOf("tensor"), engine: SAFETENSORS, evidence: "file_header" } as const;
  return { ...nothing, timestamp_ns, pid, tid: pid, addr, size_bytes, buffer: addr };
}

/** A row for each tensor of an extent. @param timestamp_ns from when on */
export function birthRows(extent: FileExtent, tensors: readonly LiveTensor[], timestamp_ns: bigint): RowOf<"tensor">[] {
  const mapping = { buffer_addr: extent.addr, buffer_size_bytes: extent.size_bytes, usage: "weights" } as const;
  const row = { ...rowOf(extent, timestamp_ns), ...mapping, kind: extent.birth_censored ? "file" : "tensor" } as const;
  return tensors.map(({ name, tensor_type, addr, size_bytes, ne, region_type, layer, logical_id }) => {
    const place = { addr, size_bytes: BigInt(size_bytes), shape: ne.join("x") };
    return { ...row, ...place, name, tensor_type, region_type, layer, logical_id };
  });
}

/** The row that ends all tensors of an extent. */
export function deathRow(extent: FileExtent, timestamp_ns: bigint): RowOf<"tensor"> {
  return { ...rowOf(extent, timestamp_ns), kind: "free" };
}
