/** Rows of the tensor table, of a buffer and of what is placed in one. */

import { layoutColumns } from "../../regions/kv-layout.ts";
import type { WordOf } from "../../schema/row.ts";
import type { TensorUsage } from "../../schema/words.ts";
import type { EngineRow, LiveTensor } from "../engine.ts";
import type { CacheRole } from "./cache-role.ts";
import { classOfBuffer, type TensorClass } from "./classify.ts";

/** A buffer in the memory of the process. */
export interface PlacedBuffer {
  readonly handle: bigint;
  readonly addr: bigint;
  readonly sizeBytes: number;
  readonly usage: TensorUsage;
}

/** Where a tensor was told of. */
export interface From {
  readonly time: bigint;
  readonly tid: number;
  readonly graph: boolean;
  readonly role?: CacheRole | undefined;
}

type Row = EngineRow<"tensor">;

/** @param kind what became of it */
export function bufferRow(
  pid: number,
  kind: WordOf<"tensor", "kind">,
  buffer: PlacedBuffer,
  time: bigint,
  tid: number,
): Row {
  return {
    timestamp_ns: time,
    pid,
    tid,
    kind,
    name: null,
    tensor_type: null,
    addr: buffer.addr,
    size_bytes: BigInt(buffer.sizeBytes),
    shape: null,
    buffer: buffer.handle,
    buffer_addr: buffer.addr,
    buffer_size_bytes: BigInt(buffer.sizeBytes),
    usage: buffer.usage,
    region_type: classOfBuffer(buffer.usage),
    layer: null,
    logical_id: null,
    ...layoutColumns(null),
    evidence: "engine_probe",
  };
}

/** @param from where it was told of */
export function tensorRow(
  pid: number,
  kind: WordOf<"tensor", "kind">,
  buffer: PlacedBuffer,
  tensor: Omit<LiveTensor, "region_type"> & TensorClass,
  from: From,
): Row {
  const { name, tensor_type, addr, size_bytes, ne, region_type, layer, logical_id, kv_layout } = tensor;
  return {
    timestamp_ns: from.time,
    pid,
    tid: from.tid,
    kind,
    name,
    tensor_type,
    addr,
    size_bytes: BigInt(size_bytes),
    shape: ne.join("x"),
    buffer: buffer.handle,
    buffer_addr: buffer.addr,
    buffer_size_bytes: BigInt(buffer.sizeBytes),
    usage: buffer.usage,
    ...{ region_type, layer, logical_id },
    ...layoutColumns(kv_layout),
    evidence: from.graph ? "engine_graph" : "engine_probe",
  };
}
